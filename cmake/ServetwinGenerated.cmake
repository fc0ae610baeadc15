# Writes servetwin_paths.h, servetwin_build.h and, with each build, servetwin_abi.h into the build tree's
# folder `generated`.

include(GNUInstallDirs)
file(RELATIVE_PATH SERVETWIN_DATA_FROM_PROGRAM
     ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR}/servetwin)

find_package(Git QUIET)
set(SERVETWIN_GIT_COMMIT unknown)
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(SERVETWIN_GIT_COMMIT ${commit})
  endif()
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} -ffp-contract=off" SERVETWIN_BUILD_FLAGS)

foreach(header paths build)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/servetwin_${header}.h.in
                 ${PROJECT_BINARY_DIR}/generated/servetwin_${header}.h @ONLY)
endforeach()

foreach(folder engine kernels sim costmodels scenarios)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  list(APPEND installed_headers ${found})
endforeach()
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/generated/servetwin_abi.h
  DEPENDS ${installed_headers} ${CMAKE_CURRENT_LIST_DIR}/servetwin_abi.cmake VERBATIM
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
    -D OUT=${PROJECT_BINARY_DIR}/generated/servetwin_abi.h -P ${CMAKE_CURRENT_LIST_DIR}/servetwin_abi.cmake)
add_custom_target(servetwin_abi DEPENDS ${PROJECT_BINARY_DIR}/generated/servetwin_abi.h)
