// How to ask one server for an answer of a given length to a prompt of a given length that nobody asked
// before.
#pragma once

#include <cstdint>
#include <string>

namespace servetwin {

enum class PromptForm { kTokenIds, kText, kChat };
const char* to_string(PromptForm form);

struct Dialect {
  std::string model;
  PromptForm form = PromptForm::kTokenIds;
  bool ignores_eos = true;        // an answer is then as long as it may be
  bool counts_each_event = true;  // usage in each event
  bool counts = true;             // usage in the last event
  // Of texts and chats: a prompt of W words has words_base + W · tokens_per_word tokens.
  double tokens_per_word = 2;
  double words_base = 0;
};

std::string path_of(const Dialect& dialect);
// Of a call with that number; (salt, number) decide the prompt, whose very first tokens differ already, so
// that no server finds it in its prefix cache.
std::string body_of(const Dialect& dialect,
                    std::int64_t prompt_tokens,
                    std::int64_t output_tokens,
                    std::uint64_t salt,
                    std::uint64_t number);
std::int64_t words_for(const Dialect& dialect, std::int64_t prompt_tokens);

}  // namespace servetwin
