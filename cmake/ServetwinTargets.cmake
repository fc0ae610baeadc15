# Helpers that make a target of a folder, with the flags every target shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_program(SERVETWIN_CCACHE ccache)
if(SERVETWIN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SERVETWIN_CCACHE})
endif()

option(SERVETWIN_WERROR "Treat warnings as errors" ON)
option(SERVETWIN_CUDA "Compile the CUDA parts; needs the CUDA toolkit" OFF)
option(SERVETWIN_MPI "Compile process groups over MPI where MPI is found" ON)
option(SERVETWIN_UNITY "Compile a dozen files at a time: faster from nothing" OFF)
option(SERVETWIN_FUZZ "Build the libFuzzer targets of tests/fuzz; needs clang" OFF)
set(SERVETWIN_DATA_DIR "${PROJECT_SOURCE_DIR}/../shared/data" CACHE PATH
    "Folder of the measured data and traces that some tests read; they skip loudly without it")

# No contraction of a*b+c and no fast math anywhere: results must not depend on compiler or flags.
add_library(servetwin_flags INTERFACE)
set(SERVETWIN_CXX_FLAGS
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor
  -Wold-style-cast $<$<BOOL:${SERVETWIN_WERROR}>:-Werror>)
target_compile_options(servetwin_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${SERVETWIN_CXX_FLAGS}>")
# Library checks in every build but the one users run; our own invariants are checked in all of them.
target_compile_definitions(servetwin_flags INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
target_include_directories(servetwin_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

set(SERVETWIN_LIBRARIES "" CACHE INTERNAL "")

# Sets `out` to the .cpp files of the folders given and of those below them.
function(servetwin_sources out)
  set(sources)
  foreach(dir IN LISTS ARGN)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# A dozen files at a time, where asked for; files in one dozen must not repeat each other's local names.
function(servetwin_unity target)
  if(SERVETWIN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# What drives the libraries, tests and the program, is neither optimised nor counted in the fuzz preset: that
# takes a third of the time to compile.
function(servetwin_driver target)
  if(SERVETWIN_FUZZ)
    target_compile_options(${target} PRIVATE -O0 -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

# servetwin_library(name [FLAT] [APART] DIRS folder... [EXCEPT folder...] [LINK target...]): an OBJECT library
# of the folders' .cpp files. FLAT: without folders below them. APART: not in the archive that is installed.
function(servetwin_library name)
  cmake_parse_arguments(ARG "FLAT;APART" "" "DIRS;EXCEPT;LINK" ${ARGN})
  servetwin_sources(sources ${ARG_DIRS})
  foreach(folder IN LISTS ARG_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/${folder}/")
  endforeach()
  if(ARG_FLAT)
    list(FILTER sources INCLUDE REGEX "/${ARG_DIRS}/[^/]*$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(st_${name} OBJECT ${sources})
  target_link_libraries(st_${name} PRIVATE servetwin_flags ${ARG_LINK})
  set_target_properties(st_${name} PROPERTIES SERVETWIN_LINK "${ARG_LINK}")
  servetwin_unity(st_${name})
  if(NOT ARG_APART)
    set(SERVETWIN_LIBRARIES ${SERVETWIN_LIBRARIES} ${name} CACHE INTERNAL "")
  endif()
endfunction()

# servetwin_link(target name...): the objects of those libraries and what they need from outside.
function(servetwin_link target)
  target_link_libraries(${target} PRIVATE servetwin_flags Threads::Threads)
  foreach(name IN LISTS ARGN)
    if(TARGET st_${name})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:st_${name}>)
      get_target_property(links st_${name} SERVETWIN_LINK)
      if(links)
        target_link_libraries(${target} PRIVATE ${links})
      endif()
    endif()
  endforeach()
endfunction()

# servetwin_executable(name DIRS folder... LIBS library... LINK target...)
function(servetwin_executable name)
  cmake_parse_arguments(ARG "" "" "DIRS;LIBS;LINK" ${ARGN})
  servetwin_sources(sources ${ARG_DIRS})
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  servetwin_link(${name} ${ARG_LIBS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  servetwin_unity(${name})
  servetwin_driver(${name})
endfunction()
