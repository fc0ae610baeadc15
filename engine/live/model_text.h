// Between text and a model's tokens: its tokenizer, its chat template, the tokens that end its answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/models/chat_template/chat_template.h"
#include "engine/models/checkpoints/gguf.h"
#include "engine/models/tokenizer/tokenizer.h"

namespace servetwin {

struct TemplateMessage {
  std::string role;
  std::string content;
};

class ModelText {
 public:
  ModelText(Tokenizer tokenizer, std::optional<ChatTemplate> chat, std::vector<TokenId> ends)
      : tokenizer_(std::move(tokenizer)), chat_(std::move(chat)), ends_(std::move(ends)) {}

  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool has_chat() const { return chat_.has_value(); }
  // The prompt that asks for the assistant's next message. Throws ConfigError where the template refuses the
  // conversation. There must be a template.
  std::string prompt_of(const std::vector<TemplateMessage>& messages) const;
  const std::vector<TokenId>& ends() const { return ends_; }

 private:
  Tokenizer tokenizer_;
  std::optional<ChatTemplate> chat_;
  std::vector<TokenId> ends_;
};

// Of a folder: tokenizer.json; the template of chat_template.jinja or tokenizer_config.json, if there is one;
// the ends that generation_config.json lists, else the tokenizer's EOS. Throws ConfigError.
ModelText read_model_text(const std::string& folder);

// Of a GGUF file's metadata: vocabulary, template, EOS and end of turn.
ModelText gguf_model_text(const GgufMetadata& metadata);

// For models whose weights are drawn: a token for each byte, and what is beyond 255 says nothing; messages as
// <|role|>content<|end|>, then <|assistant|>; nothing ends an answer.
ModelText byte_model_text();

}  // namespace servetwin
