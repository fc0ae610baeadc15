# The suites mpi_2, mpi_3, mpi_4 and mpi_lost: test_mpi by so many processes, and with one that is killed.

if(NOT TARGET st_mpi)
  message(WARNING "Groups over MPI are not tested: MPI is missing (tools/setup --tests installs it)")
  servetwin_suite(mpi LABELS mpi on_mpi on_kernels
                  COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: MPI is missing")
  set_tests_properties(mpi PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)
  return()
endif()

servetwin_sources(sources tests/mpi)
add_executable(test_mpi ${sources} $<TARGET_OBJECTS:test_main>)
servetwin_link(test_mpi base serving workload journal models checkpoints tokenizer decoding kernels live mpi)
target_link_libraries(test_mpi PRIVATE Catch2::Catch2 test_support)
servetwin_unity(test_mpi)
servetwin_driver(test_mpi)
foreach(suite 2 3 4 lost)
  servetwin_suite(mpi_${suite} LABELS mpi on_mpi on_kernels on_models on_live
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh ${MPIEXEC_EXECUTABLE} $<TARGET_FILE:test_mpi> ${suite})
endforeach()
