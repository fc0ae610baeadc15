# Writes generated/servetwin_paths.h and generated/servetwin_build.h into the build tree.

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
