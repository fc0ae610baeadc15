// Two kinds: what is not supported, and what is wrong.
#include "engine/models/tokenizer/tokenizer_error.h"

#include "engine/base/error.h"
#include "engine/base/params.h"

namespace servetwin {

void refuse_tokenizer(const TokenizerPlace& place, const std::string& what) {
  throw ConfigError(Problem{kCodeUnknownName, SourcePlace{place.file, 0, 0}, place.path,
                            what + " is not supported", "docs/tokenizers.md lists what is"});
}

void reject_tokenizer(const TokenizerPlace& place, const std::string& what) {
  throw ConfigError(Problem{kCodeBadValue, SourcePlace{place.file, 0, 0}, place.path, what, ""});
}

}  // namespace servetwin
