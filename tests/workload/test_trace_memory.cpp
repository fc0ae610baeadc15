// If this failed, memory would grow with the length of a trace, and a day of traffic could not be replayed.
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/support/catch.h"
#include "tests/workload/trace_texts.h"

namespace {

std::int64_t num_allocations = 0;

void* counted(std::size_t size) {
  ++num_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++num_allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace servetwin::test_trace_memory {
namespace {

// A header and then one line again and again, made as it is read.
class RepeatedLine final : public ByteReader {
 public:
  RepeatedLine(std::string header, std::string line, std::int64_t count)
      : current_(std::move(header)), line_(std::move(line)), left_(count) {}

  std::size_t read(char* buffer, std::size_t size) override {
    std::size_t done = 0;
    while (done < size) {
      if (at_ == current_.size()) {
        if (left_ == 0) break;
        --left_;
        current_ = line_;
        at_ = 0;
      }
      const std::size_t count = std::min(size - done, current_.size() - at_);
      std::memcpy(buffer + done, current_.data() + at_, count);
      at_ += count;
      done += count;
    }
    return done;
  }

 private:
  std::string current_;
  std::string line_;
  std::int64_t left_;
  std::size_t at_ = 0;
};

struct Reading {
  std::int64_t rows = 0;
  std::int64_t allocations_when_warm = 0;
};

Reading read_rows(std::unique_ptr<ByteReader> bytes) {
  OpenedBytes opened;
  opened.reader = std::move(bytes);
  TraceSource source(std::move(opened), "t", trace_parts());
  constexpr std::int64_t kWarm = 10'000;
  Reading reading;
  WorkloadItem item;
  std::int64_t before = 0;
  while (source.next_arrival() != kTimeNever) {
    if (reading.rows++ == kWarm) before = num_allocations;
    source.take(item);
  }
  reading.allocations_when_warm = num_allocations - before;
  return reading;
}

}  // namespace

TEST_CASE("a CSV trace of two million rows is read without allocating once warm") {
  const Reading reading = read_rows(std::make_unique<RepeatedLine>(kCsvHeader, "7.25,1155,211\n", 2'000'000));
  CHECK(reading.rows == 2'000'000);
  CHECK(reading.allocations_when_warm == 0);
}

TEST_CASE("a Mooncake trace of many rows is read without allocating once warm") {
  const std::string line =
      "{\"timestamp\": 5, \"input_length\": 1300, \"output_length\": 20, \"hash_ids\": [11, 12, 13]}\n";
  const Reading reading = read_rows(std::make_unique<RepeatedLine>("", line, 200'000));
  CHECK(reading.rows == 200'000);
  CHECK(reading.allocations_when_warm == 0);
}

}  // namespace servetwin::test_trace_memory
