// Any bytes are a journal, an error with a code, or a torn one: never a crash, never more memory than the
// limits allow.
#include "engine/journal/journal_reader.h"

#include <cstdint>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/journal/line_codec.h"

namespace {

// The reader as a whole; few inputs get past its checksums, so the line decoder gets the bytes as well.
void read_file(const std::uint8_t* data, std::size_t size) {
  servetwin::FilePtr file(std::tmpfile());
  if (file == nullptr) return;
  std::fwrite(data, 1, size, file.get());
  std::rewind(file.get());
  try {
    servetwin::JournalReader reader(std::move(file), "input");
    servetwin::JournalEntry entry;
    while (reader.next(entry)) continue;
  } catch (const servetwin::ConfigError&) {
    return;
  }
}

// A line that is taken must be written and taken again.
void decode_text(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  servetwin::JournalLine line;
  if (!servetwin::decode_line(text, line).empty()) return;
  std::string again;
  std::visit([&](const auto& value) { append_line(again, value); }, line);
  again.pop_back();
  if (!servetwin::decode_line(again, line).empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_file(data, size);
  decode_text(data, size);
  return 0;
}
