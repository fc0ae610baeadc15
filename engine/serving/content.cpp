// Cuts a prompt's token segments into runs of full blocks with chained keys.
#include "engine/serving/content.h"

#include "engine/base/check.h"
#include "engine/base/digest.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kPrivateBit = 1ULL << 63;

// Two independent 64-bit chains over the same words make a 128-bit key.
class KeyMixer {
 public:
  explicit KeyMixer(const RunKey& parent) {
    add(parent.high);
    add(parent.low);
  }

  void add(std::uint64_t word) {
    high_.add(word);
    low_.add(~word * 0xc2b2ae3d27d4eb4fULL);
  }

  RunKey key() const { return {high_.value(), low_.value()}; }

 private:
  Digest high_;
  Digest low_;
};

// What every block's identity includes: the adapter in each block, the salt in the first (chaining spreads
// both).
RunKey root_key(const RequestSpec& request, std::uint64_t hash_seed) {
  KeyMixer mixer(RunKey{hash_seed, 0});
  mixer.add(raw(request.adapter));
  mixer.add(request.cache_salt);
  return mixer.key();
}

struct Piece {
  std::uint64_t stream;
  std::int64_t offset;  // of the piece's first token in its stream
  std::int64_t length;
};

// Walks the token segments of a request. The last one never ends: it is the generated text, or the prompt's
// last segment where generated text continues that stream.
class SegmentWalk {
 public:
  explicit SegmentWalk(const RequestSpec& request) : request_(request) { enter(0); }

  bool open() const { return index_ + (ends_open() ? 1U : 0U) >= request_.content.size(); }

  // Tokens left in the current segment.
  std::int64_t left() const { return open() ? kOpenEnd : request_.content[index_].length.value - offset_; }

  Piece take(std::int64_t length) {
    const Piece piece{stream_, offset_, length};
    offset_ += length;
    if (!open() && left() == 0) enter(index_ + 1);
    return piece;
  }

 private:
  bool ends_open() const { return request_.continues_content && !request_.content.empty(); }

  // Empty segments say nothing and must not change a key.
  void enter(std::size_t index) {
    const std::size_t closed = request_.content.size() - (ends_open() ? 1U : 0U);
    while (index < closed && request_.content[index].length.value == 0) ++index;
    index_ = index;
    offset_ = 0;
    const bool given = index < request_.content.size();
    stream_ = given ? request_.content[index].stream : kPrivateBit | raw(request_.id);
  }

  const RequestSpec& request_;
  std::size_t index_ = 0;
  std::int64_t offset_ = 0;
  std::uint64_t stream_ = 0;
};

void mix(KeyMixer& mixer, const Piece& piece) {
  mixer.add(piece.stream);
  mixer.add(static_cast<std::uint64_t>(piece.offset));
}

// One block that spans several segments: all its pieces are its identity.
RunKey straddling_key(SegmentWalk& walk, std::int64_t block_size, const RunKey& parent) {
  KeyMixer mixer(parent);
  for (std::int64_t need = block_size; need > 0;) {
    const std::int64_t length = walk.left() < need ? walk.left() : need;
    mix(mixer, walk.take(length));
    mixer.add(static_cast<std::uint64_t>(length));
    need -= length;
  }
  return mixer.key();
}

RunKey chained(const RunKey& key, std::int64_t blocks) {
  KeyMixer mixer(key);
  mixer.add(static_cast<std::uint64_t>(blocks));
  return mixer.key();
}

}  // namespace

void content_runs(const RequestSpec& request,
                  Tokens block_size,
                  std::uint64_t hash_seed,
                  std::vector<ContentRun>& runs) {
  runs.clear();
  const std::int64_t size = block_size.value;
  RunKey parent = root_key(request, hash_seed);
  SegmentWalk walk(request);
  std::int32_t block = 0;
  while (true) {
    const bool open = walk.open();
    const std::int64_t whole = walk.left() / size;
    ContentRun run;
    run.first = block;
    if (open || whole > 0) {
      KeyMixer mixer(parent);
      mix(mixer, walk.take(open ? 0 : whole * size));
      run.key = mixer.key();
      run.end = open ? kOpenEnd : block + static_cast<std::int32_t>(whole);
    } else {
      run.key = straddling_key(walk, size, parent);
      run.end = block + 1;
    }
    runs.push_back(run);
    if (open) return;
    block = run.end;
    parent = chained(run.key, run.end - run.first);
  }
}

RunKey block_key(const std::vector<ContentRun>& runs, std::int64_t block) {
  for (const ContentRun& run : runs) {
    if (block < run.end) return chained(run.key, block - run.first + 1);
  }
  CHECK_INVARIANT(false, block, runs.size());
}

}  // namespace servetwin
