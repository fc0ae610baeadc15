# `cmake --install`: the program, the headers, the data files, and the package find_package(servetwin) reads.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One archive of every library. Consumers link all of it: the linker would drop plug-ins that nothing names.
add_library(servetwin_archive STATIC)
set_target_properties(servetwin_archive PROPERTIES
  OUTPUT_NAME servetwin LINKER_LANGUAGE CXX EXPORT_NAME archive)
target_compile_features(servetwin_archive INTERFACE cxx_std_20)
target_compile_options(servetwin_archive INTERFACE -ffp-contract=off)
target_include_directories(servetwin_archive INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/servetwin>)
foreach(name IN LISTS SERVETWIN_LIBRARIES)
  target_sources(servetwin_archive PRIVATE $<TARGET_OBJECTS:st_${name}>)
  get_target_property(links st_${name} SERVETWIN_LINK)
  if(links)
    target_link_libraries(servetwin_archive PRIVATE ${links})
  endif()
endforeach()
target_link_libraries(servetwin_archive PRIVATE Threads::Threads)

add_library(servetwin_package INTERFACE)
set_target_properties(servetwin_package PROPERTIES EXPORT_NAME servetwin)
add_library(servetwin::archive ALIAS servetwin_archive)
target_link_libraries(servetwin_package INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,servetwin::archive>)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/servetwin)
install(TARGETS servetwin_archive servetwin_package EXPORT servetwin
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT servetwin NAMESPACE servetwin:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/servetwinConfig.cmake.in
  ${PROJECT_BINARY_DIR}/servetwinConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/servetwinConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/servetwinConfig.cmake ${PROJECT_BINARY_DIR}/servetwinConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/plugin_abi.cpp
        DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/generated/servetwin_abi.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/servetwin/generated)

foreach(folder engine kernels sim costmodels scenarios)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/servetwin
          FILES_MATCHING PATTERN "*.h" PATTERN "collectives/mpi" EXCLUDE)
endforeach()
foreach(folder costmodels/devices costmodels/engines costmodels/models costmodels/profiles scenarios)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/servetwin/${folder}
          PATTERN "*.cpp" EXCLUDE PATTERN "*.h" EXCLUDE)
endforeach()
if(TARGET servetwin)
  install(TARGETS servetwin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
