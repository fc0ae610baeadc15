// The group of all processes that run this test program.
#pragma once

#include <chrono>
#include <memory>

#include "kernels/collectives/mpi/mpi_communicator.h"

namespace servetwin {

// MPI begins with the first call, whose deadline holds, and ends with the program.
MpiCommunicator& mpi_world(std::chrono::milliseconds deadline = std::chrono::minutes(2));

// A group of its own for a case, of the same ranks: one that fails does not touch the next case's.
std::unique_ptr<Communicator> mpi_group();

// From here on the program ends without MPI_Finalize, which would wait for a rank that is lost.
void leave_without_the_lost();

}  // namespace servetwin
