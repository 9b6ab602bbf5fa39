# Debian's cross compiler for 64-bit ARM; what it builds runs under qemu-user.
# VOUCH_SYSROOT holds the target's libraries (tools/test-neon fills it).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VOUCH_SYSROOT)
set(CMAKE_FIND_ROOT_PATH "${VOUCH_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(VOUCH_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
set(CMAKE_CROSSCOMPILING_EMULATOR
  "${VOUCH_QEMU};-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=${VOUCH_SYSROOT}/usr/lib/aarch64-linux-gnu")
