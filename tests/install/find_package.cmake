# Installs the build tree, builds a project of an embedder's against what was
# installed, and runs it. Run with cmake -P; see CMakeLists.txt.
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
must("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
foreach(internal kernels/cpu kernels/reference kernels/pool_members.hpp tests)
  if(EXISTS "${WORK}/prefix/include/vouch/${internal}")
    message(FATAL_ERROR "include/vouch/${internal} is no embedder's business")
  endif()
endforeach()
must("${CMAKE_COMMAND}" -S "${SOURCE}/tests/install/embedder"
  -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
  "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
  "-DEMBED_SOURCE=${SOURCE}/examples/embed.cpp")
must("${CMAKE_COMMAND}" --build "${WORK}/build")
must("${WORK}/build/embedder" "${SOURCE}/tests/fixtures/llama_tiny" "Hello")
if(NOT output MATCHES "finished: [0-9]+ prompt tokens, 16 generated")
  message(FATAL_ERROR "unexpected output:\n${output}")
endif()
must("${WORK}/prefix/bin/vouch" --version)
