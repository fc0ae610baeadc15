# The suite `emulator`: kernels/**/*.cu compiled as host C++ against the stand-ins of tests/emulator/include and
# run thread by thread, beside mutants of them, each of which a test must notice. Needs no CUDA toolkit.

find_package(Boost 1.74 QUIET COMPONENTS context)
if(NOT TARGET Boost::context)
  message(WARNING "CUDA kernels are not tested: Boost.Context is missing (tools/setup --tests installs it)")
  return()
endif()

# g++ can tell the checker of races every load and store; where a sanitizer runs already, that one checks.
set(emulated_options -O1 -g1 -fno-strict-aliasing -Wno-unknown-pragmas -Wno-unused-function)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  list(APPEND emulated_options -fsanitize=thread -fno-threadsafe-statics
       --param=tsan-instrument-func-entry-exit=0)
endif()

# servetwin_emulated(target source...): an OBJECT library of CUDA sources.
function(servetwin_emulated target)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${emulated_options}")
  target_link_libraries(${target} PRIVATE servetwin_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/emulator/include)
endfunction()

file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
file(GLOB textbook_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/emulator/textbook/*.cu)
servetwin_emulated(emulated_kernels ${kernel_sources} ${textbook_sources})

# Where the time goes.
set_source_files_properties(emulator/machine.cpp emulator/checker.cpp emulator/hooks.cpp PROPERTIES
                            COMPILE_OPTIONS -O2 SKIP_UNITY_BUILD_INCLUSION ON)
servetwin_test(emulator LABELS unit LIBS base kernels decoding LINK Boost::context ${CMAKE_DL_LIBS})
target_sources(test_emulator PRIVATE $<TARGET_OBJECTS:emulated_kernels>)
