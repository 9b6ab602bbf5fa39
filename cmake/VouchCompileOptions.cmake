# One interface target carries what every translation unit is compiled with, so
# that no two kernels can be contracted or rounded differently.
add_library(vouch_options INTERFACE)
# An embedder's compiler may default to an older standard.
target_compile_features(vouch_options INTERFACE cxx_std_20)
target_compile_options(vouch_options INTERFACE
  # Warnings are this tree's business, not an embedder's.
  "$<BUILD_INTERFACE:-Wall;-Wextra;-Wno-psabi>"
  # The row contract: a*b+c is fused only where the code says so.
  -ffp-contract=off -fno-fast-math)
if(VOUCH_WERROR)
  target_compile_options(vouch_options INTERFACE "$<BUILD_INTERFACE:-Werror>")
endif()
target_include_directories(vouch_options INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
  "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/vouch>")

if(VOUCH_SANITIZE)
  target_compile_options(vouch_options INTERFACE
    -fsanitize=${VOUCH_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(vouch_options INTERFACE -fsanitize=${VOUCH_SANITIZE})
endif()
