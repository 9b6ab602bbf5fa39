# `find_package(vouch)` for embedders: the libraries, their headers and the
# finder for CAF, which Debian ships without a CMake package.
include(CMakePackageConfigHelpers)

set(vouch_libraries
  vouch_kernels vouch_engine vouch_actors vouch_runtime vouch_http)
install(TARGETS vouch_options ${vouch_libraries}
  EXPORT vouch-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(layer kernels engine actors runtime http)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${layer}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vouch"
    FILES_MATCHING PATTERN "*.hpp"
    # What only the layer's own sources include.
    REGEX "/kernels/(cpu|reference)$" EXCLUDE
    REGEX "/kernels/(pool_[a-z]+|kv_block_map)\\.hpp$" EXCLUDE
    PATTERN "*-inl.hpp" EXCLUDE)
endforeach()

set(vouch_cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/vouch")
install(EXPORT vouch-targets NAMESPACE vouch:: DESTINATION
  "${vouch_cmake_folder}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/vouch-config.cmake.in"
  "${PROJECT_BINARY_DIR}/vouch-config.cmake"
  INSTALL_DESTINATION "${vouch_cmake_folder}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/vouch-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/vouch-config.cmake"
  "${PROJECT_BINARY_DIR}/vouch-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindCAF.cmake"
  DESTINATION "${vouch_cmake_folder}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/vouch/configs")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
