// If these fail, costs are priced for other bytes than an algorithm sends.
#include "kernels/collectives/collectives_cost.h"

#include <algorithm>
#include <vector>

#include "kernels/collectives/all_reduce_cost.h"
#include "tests/support/catch.h"

namespace servetwin::test::collectives_cost_test {
namespace {

// Bytes that each rank sends.
using Sent = std::vector<double>;

// In each of n − 1 rounds every rank passes a piece on to its right neighbour.
Sent ring(int ranks, double piece) {
  Sent sent(static_cast<std::size_t>(ranks));
  for (int round = 1; round < ranks; ++round) {
    for (double& bytes : sent) bytes += piece;
  }
  return sent;
}

// What rank r has for rank s, for every pair.
template <class Piece>
Sent direct(int ranks, const Piece& piece) {
  Sent sent(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    for (int s = 0; s < ranks; ++s) {
      if (r != s) sent[static_cast<std::size_t>(r)] += piece(r, s);
    }
  }
  return sent;
}

// A binomial tree: in each round those who have the message send it to as many that do not.
Sent tree(int ranks, double message) {
  Sent sent(static_cast<std::size_t>(ranks));
  for (int have = 1; have < ranks; have *= 2) {
    for (int r = 0; r < have && r + have < ranks; ++r) sent[static_cast<std::size_t>(r)] += message;
  }
  return sent;
}

double mean(const Sent& sent) {
  double sum = 0;
  for (const double bytes : sent) sum += bytes;
  return sum / static_cast<double>(sent.size());
}

Sent all_send(int ranks, double bytes) { return Sent(static_cast<std::size_t>(ranks), bytes); }

TEST_CASE("the closed forms of sent bytes are what rings, trees and direct exchanges send") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    INFO(ranks << " ranks");
    const double n = ranks;
    const double piece = 48;
    const double message = n * piece;
    const Sent to_all = direct(ranks, [&](int, int) { return piece; });
    CHECK(ring(ranks, piece) == all_send(ranks, all_gather_sent_bytes(piece, n)));
    CHECK(to_all == all_send(ranks, all_gather_sent_bytes(piece, n)));
    const auto near = [](double bytes) { return Approx(bytes).epsilon(1e-14); };
    CHECK(reduce_scatter_sent_bytes(message, n) == near(ring(ranks, piece)[0]));
    CHECK(all_to_all_sent_bytes(message, n) == near(to_all[0]));
    CHECK(broadcast_sent_bytes(message, n) == near(mean(tree(ranks, message))));
    const Sent flat = direct(ranks, [&](int r, int) { return r == 0 ? message : 0.0; });
    CHECK(broadcast_sent_bytes(message, n) == near(mean(flat)));
    CHECK(broadcast_root_sent_bytes(message, n) == flat[0]);
    CHECK(all_reduce_sent_bytes(message, n) ==
          near(reduce_scatter_sent_bytes(message, n) + all_gather_sent_bytes(piece, n)));
  }
  CHECK(send_sent_bytes(48) == 48);
}

TEST_CASE("a rank alone sends nothing") {
  CHECK(all_reduce_sent_bytes(64, 1) == 0);
  CHECK(all_gather_sent_bytes(64, 1) == 0);
  CHECK(reduce_scatter_sent_bytes(64, 1) == 0);
  CHECK(all_to_all_sent_bytes(64, 1) == 0);
  CHECK(broadcast_sent_bytes(64, 1) == 0);
  CHECK(broadcast_root_sent_bytes(64, 1) == 0);
}

}  // namespace
}  // namespace servetwin::test::collectives_cost_test
