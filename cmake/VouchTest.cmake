include(GoogleTest)

# vouch_test(NAME SOURCES file... LIBS target...)
# A GoogleTest program; each of its cases becomes a CTest test NAME.Suite.Case.
function(vouch_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE
    vouch_options ${arg_LIBS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    VOUCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    VOUCH_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
