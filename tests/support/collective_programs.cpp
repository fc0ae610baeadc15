// The naive model of collectives: each result is written down from what all ranks give.
#include "tests/support/collective_programs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/base/rng.h"

namespace servetwin {
namespace {

using Program = CollectiveProgram;
using Step = ProgramStep;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

std::uint64_t entity_of(std::size_t step, int rank) { return 1000 * step + at(rank); }

// Draws of a program's shape, apart from those of its values.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  int below(int end) {
    const double unit = draw_unit({seed_, Stream::kTest, ~0ULL}, next_++);
    return std::min(end - 1, static_cast<int>(unit * end));
  }

 private:
  std::uint64_t seed_;
  std::uint32_t next_ = 0;
};

std::size_t draw_count(Draws& draws) {
  static constexpr std::array<std::size_t, 8> kCounts{0, 1, 2, 3, 7, 64, 1025, 3001};
  return kCounts.at(at(draws.below(static_cast<int>(kCounts.size()))));
}

void draw_messages(Step& step, Draws& draws, int ranks) {
  std::vector<int> order(at(ranks));
  for (int r = 0; r < ranks; ++r) order[at(r)] = r;
  for (int r = ranks - 1; r > 0; --r) std::swap(order[at(r)], order[at(draws.below(r + 1))]);
  step.receiver.assign(at(ranks), -1);
  step.sender.assign(at(ranks), -1);
  for (int i = 0; i + 1 < ranks; i += 2) {
    step.receiver[at(order[at(i)])] = order[at(i + 1)];
    step.sender[at(order[at(i + 1)])] = order[at(i)];
  }
}

void draw_split(Step& step, Draws& draws, int ranks) {
  std::vector<int> named(at(ranks), -1);  // the colour of what was drawn, from 0 in order of appearance
  for (int r = 0; r < ranks; ++r) {
    int& colour = named[at(draws.below(ranks))];
    if (colour < 0) {
      colour = static_cast<int>(step.part_size.size());
      step.part_size.push_back(0);
    }
    step.colour.push_back(colour);
    step.rank_in_part.push_back(step.part_size[at(colour)]++);
  }
}

void append(ByteBuffer& out, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t before = out.size();
  out.resize(before + bytes);
  std::memcpy(out.data() + before, from, bytes);
}

void append(ByteBuffer& out, const std::vector<float>& values) {
  append(out, values.data(), values.size() * sizeof(float));
}

// In rank order.
std::vector<float> sum_of_all(const Program& p, std::size_t s, std::size_t count) {
  std::vector<float> sum = program_floats(p, s, 0, count);
  for (int r = 1; r < p.ranks; ++r) {
    const std::vector<float> more = program_floats(p, s, r, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] = sum[i] + more[i];
  }
  return sum;
}

// What r gives to `to` in an all-to-all: its place is behind the pieces for lower ranks.
ByteBuffer piece_for(const Program& p, std::size_t s, int r, int to) {
  const Step& step = p.steps[s];
  std::size_t first = 0;
  std::size_t all = 0;
  for (int other = 0; other < p.ranks; ++other) {
    const std::size_t bytes = step.pair_bytes[at(r * p.ranks + other)];
    if (other < to) first += bytes;
    all += bytes;
  }
  const ByteBuffer given = program_bytes(p, s, r, all);
  const auto begin = given.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(step.pair_bytes[at(r * p.ranks + to)])};
}

void expect_collective(const Program& p, std::size_t s, int rank, ByteBuffer& out) {
  const Step& step = p.steps[s];
  const std::size_t n = at(p.ranks);
  switch (step.op) {
    case CollectiveOp::kAllReduce:
      return append(out, sum_of_all(p, s, step.count));
    case CollectiveOp::kReduceScatter: {
      const std::vector<float> sum = sum_of_all(p, s, step.count * n);
      return append(out, sum.data() + at(rank) * step.count, step.count * sizeof(float));
    }
    case CollectiveOp::kAllGather:
      for (int r = 0; r < p.ranks; ++r) append(out, program_floats(p, s, r, step.count));
      return;
    case CollectiveOp::kAllToAll:
      for (int r = 0; r < p.ranks; ++r) {
        const ByteBuffer piece = piece_for(p, s, r, rank);
        append(out, piece.data(), piece.size());
      }
      return;
    case CollectiveOp::kBroadcast:
      return append(out, program_floats(p, s, step.root, step.count));
    default:
      return;
  }
}

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

void play_all_to_all(const Program& p, std::size_t s, Communicator& group, ByteBuffer& out) {
  const Step& step = p.steps[s];
  const int rank = group.rank();
  std::vector<std::size_t> give;
  std::vector<std::size_t> take;
  std::size_t given = 0;
  std::size_t taken = 0;
  for (int other = 0; other < p.ranks; ++other) {
    give.push_back(step.pair_bytes[at(rank * p.ranks + other)]);
    take.push_back(step.pair_bytes[at(other * p.ranks + rank)]);
    given += give.back();
    taken += take.back();
  }
  ByteBuffer received(taken);
  group.all_to_all(program_bytes(p, s, rank, given), give, received, take);
  append(out, received.data(), received.size());
}

void play_collective(const Program& p, std::size_t s, Communicator& group, ByteBuffer& out) {
  const Step& step = p.steps[s];
  const std::size_t n = at(p.ranks);
  std::vector<float> mine = program_floats(p, s, group.rank(), step.count);
  switch (step.op) {
    case CollectiveOp::kAllReduce:
      group.all_reduce(mine);
      return append(out, mine);
    case CollectiveOp::kReduceScatter:
      group.reduce_scatter(program_floats(p, s, group.rank(), step.count * n), mine);
      return append(out, mine);
    case CollectiveOp::kAllGather: {
      std::vector<float> all(step.count * n);
      group.all_gather(bytes_of(mine), std::as_writable_bytes(std::span(all)));
      return append(out, all);
    }
    case CollectiveOp::kAllToAll:
      return play_all_to_all(p, s, group, out);
    case CollectiveOp::kBroadcast:
      group.broadcast(std::as_writable_bytes(std::span(mine)), step.root);
      return append(out, mine);
    default:
      return group.barrier();
  }
}

}  // namespace

Program random_program(std::uint64_t seed, int ranks, int num_steps, bool may_split) {
  Draws draws(seed);
  Program program{seed, ranks, {}};
  for (int i = 0; i < num_steps; ++i) {
    Step step;
    step.count = draw_count(draws);
    switch (const int kind = draws.below(may_split ? 8 : 7); kind) {
      case 6:
        step.kind = Step::Kind::messages;
        draw_messages(step, draws, ranks);
        break;
      case 7:
        step.kind = Step::Kind::split;
        draw_split(step, draws, ranks);
        break;
      default:
        step.op = std::array{CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
                             CollectiveOp::kAllToAll,  CollectiveOp::kBroadcast, CollectiveOp::kBarrier}
                      .at(at(kind));
    }
    step.root = draws.below(ranks);
    for (int pair = 0; pair < ranks * ranks; ++pair) step.pair_bytes.push_back(draw_count(draws));
    program.steps.push_back(step);
  }
  return program;
}

Program part_program(const Program& program, std::size_t step, int colour) {
  const std::uint64_t seed = program.seed * 1000 + step * 10 + at(colour) + 1;
  return random_program(seed, program.steps[step].part_size[at(colour)], 4, false);
}

std::vector<float> program_floats(const Program& program, std::size_t step, int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    const double unit = draw_unit({program.seed, Stream::kTest, entity_of(step, rank)}, index);
    values[i] = static_cast<float>(std::ldexp(unit - 0.5, static_cast<int>(i % 13) + 3 * rank));
  }
  return values;
}

ByteBuffer program_bytes(const Program& program, std::size_t step, int rank, std::size_t count) {
  ByteBuffer bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    const double unit = draw_unit({program.seed, Stream::kTest, entity_of(step, rank)}, index);
    bytes[i] = static_cast<std::byte>(unit * 256.0);
  }
  return bytes;
}

ByteBuffer expected_results(const Program& p, int rank) {
  ByteBuffer out;
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    const Step& step = p.steps[s];
    if (step.kind == Step::Kind::collective) expect_collective(p, s, rank, out);
    if (step.kind == Step::Kind::messages && step.sender[at(rank)] >= 0) {
      append(out, program_floats(p, s, step.sender[at(rank)], step.count));
    }
    if (step.kind == Step::Kind::split) {
      const ByteBuffer part =
          expected_results(part_program(p, s, step.colour[at(rank)]), step.rank_in_part[at(rank)]);
      append(out, part.data(), part.size());
    }
  }
  return out;
}

ByteBuffer play(const Program& p, Communicator& group) {
  ByteBuffer out;
  const std::size_t rank = at(group.rank());
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    const Step& step = p.steps[s];
    if (step.kind == Step::Kind::collective) play_collective(p, s, group, out);
    if (step.kind == Step::Kind::messages && step.receiver[rank] >= 0) {
      group.send(bytes_of(program_floats(p, s, group.rank(), step.count)), step.receiver[rank]);
    }
    if (step.kind == Step::Kind::messages && step.sender[rank] >= 0) {
      std::vector<float> values(step.count);
      group.receive(std::as_writable_bytes(std::span(values)), step.sender[rank]);
      append(out, values);
    }
    if (step.kind == Step::Kind::split) {
      const auto part = group.split(step.colour[rank]);
      const ByteBuffer received = play(part_program(p, s, step.colour[rank]), *part);
      append(out, received.data(), received.size());
    }
  }
  return out;
}

}  // namespace servetwin
