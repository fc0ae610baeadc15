// One MpiProcess a program.
#include "tests/mpi/mpi_world.h"

namespace servetwin {
namespace {

bool finalises = true;

// Cases let groups fail on purpose; every process still comes to the end.
struct World {
  explicit World(std::chrono::milliseconds deadline) : process(deadline), group(process.world("world")) {}
  ~World() {
    if (finalises) process.finalise();
  }
  MpiProcess process;
  std::unique_ptr<MpiCommunicator> group;
};

}  // namespace

MpiCommunicator& mpi_world(std::chrono::milliseconds deadline) {
  static World world(deadline);
  return *world.group;
}

std::unique_ptr<Communicator> mpi_group() { return mpi_world().split(0); }

void leave_without_the_lost() { finalises = false; }

}  // namespace servetwin
