# The suite `emulator`: kernels/**/*.cu compiled as host C++ against the stand-ins of tests/emulator/include
# and run thread by thread, beside mutants of them, each of which a test must notice. Needs no CUDA toolkit.

find_package(Boost 1.74 QUIET COMPONENTS context)
if(NOT TARGET Boost::context)
  message(WARNING "CUDA kernels are not tested: Boost.Context is missing (tools/setup --tests installs it)")
  return()
endif()

# servetwin_emulated(target source...): an OBJECT library of CUDA sources. g++ tells the checker of races
# every load and store; where a sanitizer runs already, that one checks.
function(servetwin_emulated target)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE servetwin_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/emulator/include)
  target_compile_options(${target} PRIVATE
    -O1 -g1 -fno-strict-aliasing -Wno-unknown-pragmas -Wno-unused-function)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    target_compile_options(${target} PRIVATE
      -fsanitize=thread -fno-threadsafe-statics --param=tsan-instrument-func-entry-exit=0)
  endif()
  servetwin_unity(${target})
endfunction()

file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
file(GLOB textbook_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/emulator/textbook/*.cu)
servetwin_emulated(emulated_kernels ${kernel_sources} ${textbook_sources})

# servetwin_mutant(name FILE file FROM text TO text): the kernel source with one text replaced, its functions
# in namespace servetwin::<name>. Dropped barriers need no mutant: the emulator drops them as it runs.
set(mutants ${CMAKE_CURRENT_BINARY_DIR}/mutants)
set(all_mutants "// Every mutant, in one translation unit: each is in a namespace of its own.\n")
function(servetwin_mutant name)
  cmake_parse_arguments(ARG "" "FILE;FROM;TO" "" ${ARGN})
  set(file ${PROJECT_SOURCE_DIR}/kernels/${ARG_FILE})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  foreach(pair "FROM;TO" "OUTSIDE;INSIDE")
    list(GET pair 0 from)
    list(GET pair 1 to)
    set(ARG_OUTSIDE "namespace servetwin {")
    set(ARG_INSIDE "namespace servetwin::${name} {")
    string(FIND "${text}" "${ARG_${from}}" first)
    string(FIND "${text}" "${ARG_${from}}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
      message(FATAL_ERROR "Mutant ${name}: \"${ARG_${from}}\" is not once in kernels/${ARG_FILE}")
    endif()
    string(REPLACE "${ARG_${from}}" "${ARG_${to}}" text "${text}")
  endforeach()
  file(CONFIGURE OUTPUT ${mutants}/${name}.cu CONTENT "#line 1 \"${name}.cu\"\n${text}" @ONLY)
  set(all_mutants "${all_mutants}#include \"${mutants}/${name}.cu\"\n" PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/mutants.cmake)
file(CONFIGURE OUTPUT ${mutants}/mutants.cu CONTENT "${all_mutants}" @ONLY)
servetwin_emulated(emulated_mutants ${mutants}/mutants.cu)

# Where the time goes.
set_source_files_properties(emulator/machine.cpp emulator/checker.cpp emulator/hooks.cpp PROPERTIES
                            COMPILE_OPTIONS -O2 SKIP_UNITY_BUILD_INCLUSION ON)
servetwin_test(emulator LABELS unit LIBS base kernels decoding LINK Boost::context ${CMAKE_DL_LIBS})
target_sources(test_emulator PRIVATE $<TARGET_OBJECTS:emulated_kernels> $<TARGET_OBJECTS:emulated_mutants>)

# What the emulator cannot know: whether device code calls only what a device has. clang's front end for CUDA
# does.
find_program(SERVETWIN_CUDA_FRONT_END NAMES clang++ clang++-14)
if(SERVETWIN_CUDA_FRONT_END)
  set(every_kernel "// Every kernel, in one translation unit.\n")
  foreach(source IN LISTS kernel_sources)
    string(APPEND every_kernel "#include \"${source}\"\n")
  endforeach()
  set(every_kernel_file ${CMAKE_CURRENT_BINARY_DIR}/every_kernel.cu)
  file(CONFIGURE OUTPUT ${every_kernel_file} CONTENT "${every_kernel}" @ONLY)
  set(front_end
      ${SERVETWIN_CUDA_FRONT_END} -x cuda --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -fsyntax-only -std=c++20
      -Wall -Werror -Wno-unknown-cuda-version -I ${CMAKE_CURRENT_LIST_DIR}/front_end/include
      -I ${PROJECT_SOURCE_DIR})
  servetwin_suite(cuda_front_end LABELS emulator on_kernels on_emulator
                  COMMAND ${front_end} ${every_kernel_file})
  servetwin_suite(cuda_front_end_refuses LABELS emulator on_kernels on_emulator
                  COMMAND ${front_end} ${CMAKE_CURRENT_LIST_DIR}/front_end/calls_host.cu)
  set_tests_properties(cuda_front_end_refuses PROPERTIES
                       PASS_REGULAR_EXPRESSION "no matching function for call to 'host_number'")
endif()
