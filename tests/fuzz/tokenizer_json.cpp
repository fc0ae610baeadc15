// Any text either becomes a tokenizer, which then survives any text, or a ConfigError.
#include "engine/models/tokenizer/tokenizer_json.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/check.h"
#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try {
    const servetwin::Tokenizer tokenizer = servetwin::parse_tokenizer_json(text, "tokenizer.json");
    for (const servetwin::TokenId token : tokenizer.encode(text.substr(0, 256))) {
      CHECK_INVARIANT(tokenizer.piece(token) != nullptr);
    }
    tokenizer.decode(tokenizer.encode(" Hello \xC3\xA9\xFF 123 </s>"));
  } catch (const servetwin::ConfigError&) {
  }
  return 0;
}
