// Collectives as exchanges of pieces between all ranks of a group.
#include "kernels/collectives/mpi/mpi_communicator.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "kernels/collectives/mpi/mpi_transport.h"

namespace servetwin {
namespace {

// By rank: what it is given, or what it gives.
using Pieces = std::vector<std::span<const std::byte>>;
using Sizes = std::vector<std::size_t>;

// The word that begins a call.
struct Word {
  CallHeader header;
  std::int64_t next_tag = 0;
};
static_assert(sizeof(Word) == 48, "sent as it is, so without gaps");

constexpr int kQuickLooks = 200;
constexpr std::chrono::microseconds kNap(50);

void sum_pieces(const Pieces& pieces, std::span<std::byte> out) {
  std::vector<const float*> parts;
  for (const std::span<const std::byte> piece : pieces) parts.push_back(floats(piece));
  sum_in_rank_order(parts, floats(out));
}

// One behind the other.
template <class Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> bytes, std::span<const std::size_t> sizes) {
  std::vector<std::span<Byte>> pieces;
  for (const std::size_t size : sizes) {
    pieces.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return pieces;
}

}  // namespace

// One call of one rank.
class MpiCall {
 public:
  MpiCall(MpiCommunicator& rank, const CollectiveCall& call)
      : rank_(rank),
        call_(call),
        n_(static_cast<std::size_t>(rank.size())),
        me_(static_cast<std::size_t>(rank.rank())),
        end_(std::chrono::steady_clock::now() + rank.deadline_) {}

  // Hears the word of each rank that is in it; by rank, with this one's own.
  std::vector<Word> meet(int next_tag = 0) const;
  void carry_out() const;
  // Fills in the tag and the members of this rank's part; returns its rank there.
  int split(MpiGroup& part) const;

 private:
  Sizes all(std::size_t bytes) const { return Sizes(n_, bytes); }
  int member(std::size_t r) const { return rank_.group().members[r]; }

  void check_failures() const;
  void finish(MpiExchange& exchange) const;
  std::string late(const MpiExchange& exchange) const;
  // Gives each rank its piece; returns what each has for this one, `taken[r]` bytes, held by `exchange`.
  Pieces swap(MpiExchange& exchange, const Pieces& given, const Sizes& taken) const;
  void swap_into(std::span<std::byte> out, const Pieces& given, const Sizes& taken) const;
  void sum_into(std::span<std::byte> out, const Pieces& given) const;
  void all_reduce() const;
  void broadcast() const;

  MpiCommunicator& rank_;
  const CollectiveCall& call_;
  std::size_t n_;
  std::size_t me_;
  std::chrono::steady_clock::time_point end_;
};

void MpiCall::check_failures() const {
  for (const MpiGroup& group : rank_.lineage_) {
    const std::string failure = rank_.transport_.failure_of(group.tag);
    if (failure.empty()) continue;
    const bool own = group.tag == rank_.group().tag;
    throw MpiFailure(own ? failure : "group " + group.name + " has failed: " + failure);
  }
}

std::string MpiCall::late(const MpiExchange& exchange) const {
  const std::vector<int> processes = exchange.missing();
  std::vector<int> ranks;
  for (std::size_t r = 0; r < n_; ++r) {
    if (std::binary_search(processes.begin(), processes.end(), member(r))) {
      ranks.push_back(static_cast<int>(r));
    }
  }
  return "rank " + std::to_string(me_) + " waited " + std::to_string(rank_.deadline_.count()) + " ms for " +
         name_ranks(ranks);
}

void MpiCall::finish(MpiExchange& exchange) const {
  // Quick looks answer short calls soon; naps leave the core to the rank that is waited for.
  for (int looks = 0; !exchange.done(); ++looks) {
    check_failures();
    if (std::chrono::steady_clock::now() >= end_) throw MpiFailure(late(exchange));
    if (looks < kQuickLooks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

std::vector<Word> MpiCall::meet(int next_tag) const {
  check_failures();
  MpiExchange exchange(rank_.transport_, rank_.group().tag);
  std::vector<Word> words(n_, {header_for(call_, rank_.rank()), next_tag});
  Pieces heard(n_);
  for (std::size_t r = 0; r < n_; ++r) {
    if (r == me_ || (is_message(call_) && static_cast<int>(r) != call_.peer)) continue;
    const Word mine{header_for(call_, static_cast<int>(r)), next_tag};
    heard[r] = exchange.receive(member(r), sizeof mine);
    exchange.send(member(r), std::as_bytes(std::span(&mine, 1)));
  }
  finish(exchange);
  check_failures();  // the words may be those of ranks that have given up since
  for (std::size_t r = 0; r < n_; ++r) {
    if (heard[r].empty()) continue;
    std::memcpy(&words[r], heard[r].data(), sizeof(Word));
    const CallHeader mine = header_for(call_, static_cast<int>(r));
    if (agree(mine, words[r].header)) continue;
    throw MpiFailure(describe_mismatch(rank_.rank(), mine, static_cast<int>(r), words[r].header));
  }
  return words;
}

Pieces MpiCall::swap(MpiExchange& exchange, const Pieces& given, const Sizes& taken) const {
  Pieces pieces(n_);
  for (std::size_t r = 0; r < n_; ++r) {
    if (r != me_) pieces[r] = exchange.receive(member(r), taken[r]);
  }
  for (std::size_t r = 0; r < n_; ++r) {
    if (r == me_) continue;
    exchange.send(member(r), given[r]);
    rank_.sent_bytes_.at(static_cast<std::size_t>(call_.op)) += static_cast<std::int64_t>(given[r].size());
  }
  finish(exchange);
  pieces[me_] = given[me_];
  return pieces;
}

void MpiCall::swap_into(std::span<std::byte> out, const Pieces& given, const Sizes& taken) const {
  MpiExchange exchange(rank_.transport_, rank_.group().tag);
  const Pieces pieces = swap(exchange, given, taken);
  const auto places = cut(out, taken);
  for (std::size_t r = 0; r < n_; ++r) copy_bytes(pieces[r], places[r]);
}

void MpiCall::sum_into(std::span<std::byte> out, const Pieces& given) const {
  MpiExchange exchange(rank_.transport_, rank_.group().tag);
  sum_pieces(swap(exchange, given, all(out.size())), out);
}

void MpiCall::all_reduce() const {
  Sizes sizes;
  for (std::size_t r = 0; r < n_; ++r) {
    const std::size_t count = call_.out.size() / sizeof(float);
    sizes.push_back(piece_size(count, rank_.size(), static_cast<int>(r)) * sizeof(float));
  }
  const std::span<std::byte> mine = cut(call_.out, sizes)[me_];
  sum_into(mine, cut(call_.in, sizes));
  swap_into(call_.out, Pieces(n_, mine), sizes);
}

void MpiCall::broadcast() const {
  const std::size_t root = static_cast<std::size_t>(call_.peer);
  Pieces given(n_);
  Sizes taken(n_);
  if (me_ == root) {
    given.assign(n_, call_.in);
    given[me_] = {};
    return swap_into({}, given, taken);
  }
  taken[root] = call_.out.size();
  swap_into(call_.out, given, taken);
}

void MpiCall::carry_out() const {
  const std::size_t peer = static_cast<std::size_t>(std::max(0, call_.peer));
  Pieces given(n_);
  Sizes taken(n_);
  switch (call_.op) {
    case CollectiveOp::kAllReduce:
      return all_reduce();
    case CollectiveOp::kAllGather:
      return swap_into(call_.out, Pieces(n_, call_.in), all(call_.in.size()));
    case CollectiveOp::kReduceScatter:
      return sum_into(call_.out, cut(call_.in, all(call_.out.size())));
    case CollectiveOp::kAllToAll:
      return swap_into(call_.out, cut(call_.in, call_.in_bytes),
                       Sizes(call_.out_bytes.begin(), call_.out_bytes.end()));
    case CollectiveOp::kBroadcast:
      return broadcast();
    case CollectiveOp::kSend:
      given[peer] = call_.in;
      return swap_into({}, given, taken);
    case CollectiveOp::kReceive:
      taken[peer] = call_.out.size();
      return swap_into(call_.out, given, taken);
    case CollectiveOp::kBarrier:
      return;
  }
}

int MpiCall::split(MpiGroup& part) const {
  struct Making {
    MpiTransport& transport;
    const MpiGroup& part;
    ~Making() { transport.end_group(part.tag); }
  };
  part.tag = rank_.transport_.begin_group();
  const Making making{rank_.transport_, part};
  const std::vector<Word> words = meet(part.tag);
  int rank_in_part = 0;
  for (std::size_t r = 0; r < n_; ++r) {
    part.tag = std::max(part.tag, static_cast<int>(words[r].next_tag));
    if (words[r].header.colour != *call_.colour) continue;
    if (r == me_) rank_in_part = static_cast<int>(part.members.size());
    part.members.push_back(member(r));
  }
  return rank_in_part;
}

MpiCommunicator::MpiCommunicator(MpiTransport& transport,
                                 std::chrono::milliseconds deadline,
                                 int rank,
                                 std::vector<MpiGroup> lineage)
    : CheckedCommunicator(lineage.back().name, rank, static_cast<int>(lineage.back().members.size())),
      transport_(transport),
      deadline_(deadline),
      lineage_(std::move(lineage)) {}

void MpiCommunicator::attempt(const CollectiveCall& call, const std::function<void(const MpiCall&)>& what) {
  try {
    what(MpiCall(*this, call));
  } catch (const MpiFailure& failure) {
    abort(failure.what());
    throw failed(call, failure.what());
  }
}

void MpiCommunicator::run(const CollectiveCall& call) {
  attempt(call, [](const MpiCall& one) {
    one.meet();
    one.carry_out();
  });
}

std::unique_ptr<Communicator> MpiCommunicator::split(int colour) {
  std::vector<MpiGroup> lineage = lineage_;
  lineage.push_back({name() + "/" + std::to_string(colour), 0, {}});
  int rank_in_part = 0;
  attempt(make_split(colour), [&](const MpiCall& one) { rank_in_part = one.split(lineage.back()); });
  return std::unique_ptr<Communicator>(
      new MpiCommunicator(transport_, deadline_, rank_in_part, std::move(lineage)));
}

void MpiCommunicator::abort(const std::string& reason) {
  transport_.fail(group().tag, reason.empty() ? "aborted" : reason, group().members);
}

std::int64_t MpiCommunicator::sent_bytes(CollectiveOp op) const {
  return sent_bytes_.at(static_cast<std::size_t>(op));
}

MpiProcess::MpiProcess(std::chrono::milliseconds deadline)
    : deadline_(deadline), transport_(std::make_unique<MpiTransport>()) {
  CHECK_INVARIANT(deadline.count() > 0 && deadline <= std::chrono::hours(24), deadline);
}

MpiProcess::~MpiProcess() {
  if (!transport_->has_failures()) transport_->finalise();
}

int MpiProcess::rank() const { return transport_->rank(); }

int MpiProcess::size() const { return transport_->size(); }

std::unique_ptr<MpiCommunicator> MpiProcess::world(const std::string& name) {
  MpiGroup all{name, transport_->begin_group(), {}};
  CHECK_INVARIANT(all.tag == 1, name);  // of later groups the ranks would have to agree on the tag
  transport_->end_group(all.tag);
  for (int r = 0; r < size(); ++r) all.members.push_back(r);
  return std::unique_ptr<MpiCommunicator>(new MpiCommunicator(*transport_, deadline_, rank(), {all}));
}

void MpiProcess::finalise() { transport_->finalise(); }

void MpiProcess::end_all(int exit_code) { transport_->end_all(exit_code); }

}  // namespace servetwin
