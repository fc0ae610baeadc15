# Turns the CUDA language on, for the cuda preset alone; every other preset builds without a toolkit.

include(CheckLanguage)
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "SERVETWIN_CUDA needs the CUDA toolkit (nvcc); every other preset builds without it")
endif()
set(CMAKE_CUDA_ARCHITECTURES 90a)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
# Kernels call the constexpr functions of engine/base.
string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr")

# servetwin_cuda_library(name DIRS folder...): the folders' .cu files for the device, beside their CPU twins.
function(servetwin_cuda_library name)
  cmake_parse_arguments(ARG "" "" "DIRS" ${ARGN})
  list(TRANSFORM ARG_DIRS APPEND /*.cu)
  list(TRANSFORM ARG_DIRS PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARG_DIRS})
  add_library(st_${name} OBJECT ${sources})
  target_link_libraries(st_${name} PRIVATE servetwin_flags CUDA::cudart)
  set_target_properties(st_${name} PROPERTIES SERVETWIN_LINK CUDA::cudart)
  set(SERVETWIN_LIBRARIES ${SERVETWIN_LIBRARIES} ${name} CACHE INTERNAL "")
endfunction()
