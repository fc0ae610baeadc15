// Text where there is no tokenizer and no model: prompts counted by a stated rule, answers of drawn words.
#pragma once

#include <cstdint>
#include <string>

#include "engine/live/http/completion_engine.h"

namespace servetwin {

// The rule, as clients are told.
inline constexpr const char* kStandInRule =
    "a stand-in: one token for every 4 bytes of the prompt, begun ones too; a conversation is its messages, "
    "each as <|role|>content<|end|>, and <|assistant|>";

// Prompts that begin with the same bytes share their first blocks, and those alone.
Prompt stand_in_prompt(const PromptInput& input, Tokens block_size);

// The answer's `index`-th token: a pure function of what was asked.
std::string stand_in_piece(std::uint64_t answer, std::int64_t index);

}  // namespace servetwin
