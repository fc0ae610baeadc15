// If these fail, a kernel can break a rule of the device and the emulator says nothing, or blames another
// line.
#include <array>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/emulator/checker.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/sanitizer.h"
#include "tests/emulator/textbook/textbook.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::faults_test {
namespace {

using textbook::Wrong;

// What the emulator says under each of six seeds.
void check_reported(Wrong wrong, FaultKind kind, bool names_line = true) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(static_cast<int>(wrong), seed);
    const Emulation emulation({seed, {}});
    const Buffer<int> numbers(std::vector<int>(64, 0));
    std::optional<Fault> fault;
    try {
      textbook::break_rule(wrong, numbers.data());
    } catch (const Fault& thrown) {
      fault = thrown;
    }
    REQUIRE(fault.has_value());
    CHECK(fault->kind == kind);
    INFO(fault->what());
    const std::string line = "faults.cu:" + std::to_string(textbook::faulty_line(wrong));
    if (names_line) CHECK(std::string(fault->what()).find(line) != std::string::npos);
    CHECK(std::string(fault->what()).find("block (") != std::string::npos);
  }
}

// The standard error of a child that breaks a rule: the address sanitizer ends the process.
std::string dying_words(Wrong wrong) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    const Buffer<int> numbers(std::vector<int>(64, 0));
    textbook::break_rule(wrong, numbers.data());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = read(ends[0], some.data(), some.size())) > 0;) {
    text.append(some.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK((!WIFEXITED(status) || WEXITSTATUS(status) != 0));
  return text;
}

}  // namespace

TEST_CASE("races on shared and global memory are reported with both lines") {
  if (!checks_races()) {
    WARN("SKIPPED: this compiler or sanitizer does not tell the checker of accesses");
    return;
  }
  check_reported(Wrong::kRace, FaultKind::kRace);
  check_reported(Wrong::kGlobalRace, FaultKind::kRace);
  check_reported(Wrong::kLaneRace, FaultKind::kRace);
}

TEST_CASE("a read of shared memory that nobody wrote is reported") {
  if (!checks_races()) {
    WARN("SKIPPED: this compiler or sanitizer does not tell the checker of accesses");
    return;
  }
  check_reported(Wrong::kUnwritten, FaultKind::kUninitialised);
}

TEST_CASE("accesses behind an array or shared memory are reported by the checker or the address sanitizer") {
  for (const Wrong wrong : {Wrong::kBeyondBuffer, Wrong::kBeyondShared}) {
    if (checks_races()) {
      check_reported(wrong, FaultKind::kOutOfBounds);
    } else if (kAddressSanitizer) {
      const std::string words = dying_words(wrong);
      CHECK(words.find("heap-buffer-overflow") != std::string::npos);
      CHECK(words.find("faults.cu:") != std::string::npos);
    } else {
      WARN("SKIPPED: neither the checker nor the address sanitizer looks on");
    }
  }
}

TEST_CASE("barriers in divergent code, and ones that a thread misses, are reported") {
  check_reported(Wrong::kDivergentBarrier, FaultKind::kBarrier);
  check_reported(Wrong::kMissedBarrier, FaultKind::kBarrier);
}

TEST_CASE("a deadlock is reported with a thread that waits and where") {
  check_reported(Wrong::kDeadlock, FaultKind::kDeadlock);
}

TEST_CASE("lanes in different operations, outside of their mask or reading outside of it are reported") {
  check_reported(Wrong::kMixedOperations, FaultKind::kCollective);
  check_reported(Wrong::kForeignMask, FaultKind::kCollective);
  check_reported(Wrong::kAbsentSource, FaultKind::kCollective, false);
}

TEST_CASE("shapes that no device accepts are refused") {
  const auto refused = [](Index grid, Index block, std::size_t shared_bytes) {
    try {
      launch(grid, block, shared_bytes, [] {});
    } catch (const Fault& fault) {
      return fault.kind == FaultKind::kLaunch;
    }
    return false;
  };
  CHECK(refused({0}, {32}, 0));
  CHECK(refused({1}, {1025}, 0));
  CHECK(refused({1, 65536}, {32}, 0));
  CHECK(refused({1}, {32}, 228 * 1024));
  CHECK_FALSE(refused({1}, {1024}, 227 * 1024));
}

TEST_CASE("a dropped barrier is noticed, whichever of the kernel's it is") {
  if (!checks_races()) {
    WARN("SKIPPED: this compiler or sanitizer does not tell the checker of accesses");
    return;
  }
  const Buffer<int> from(std::vector<int>(100, 1));
  const Buffer<unsigned> counts(std::vector<unsigned>(64, 0U));
  std::set<BarrierName> barriers;
  {
    const Emulation emulation;
    textbook::histogram(from.data(), 100, counts.data());
    barriers = emulation.barriers();
  }
  REQUIRE(barriers.size() == 2);
  for (const BarrierName& barrier : barriers) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const Emulation emulation({seed, barrier});
      CHECK_THROWS_AS(textbook::histogram(from.data(), 100, counts.data()), Fault);
    }
  }
}

TEST_CASE("seeds change who runs first, and the same seed runs the same") {
  const auto order = [](std::uint64_t seed) {
    const Emulation emulation({seed, {}});
    std::vector<unsigned> seen;
    launch({2}, {64}, 0, [&] { seen.push_back(block_index().x * 64 + thread_index().x); });
    return seen;
  };
  for (std::uint64_t seed = 0; seed < 6; ++seed) CHECK(order(seed) == order(seed));
  CHECK(order(0) != order(1));
  CHECK(order(1) != order(2));
  CHECK(order(1) != order(4));
}

}  // namespace servetwin::emulator::faults_test
