// The parts of tokenizer.json that are lists of steps, each refused by name when unknown.
#pragma once

#include <vector>

#include "engine/models/tokenizer/json_reader.h"
#include "engine/models/tokenizer/normalizer.h"
#include "engine/models/tokenizer/pre_tokenizer.h"
#include "engine/models/tokenizer/token_table.h"

namespace servetwin {

std::vector<NormalizerStep> read_normalizer(const JsonReader& file);

struct PreTokenizerSteps {
  std::vector<PreTokenizerStep> steps;
  Alphabet alphabet = Alphabet::text;
};

PreTokenizerSteps read_pre_tokenizer(const JsonReader& file);

struct Frame {
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
};

Frame read_post_processor(const JsonReader& file);

struct Decoder {
  DecodeRules rules;
  bool strip_first_space = false;
};

Decoder read_decoder(const JsonReader& file);

}  // namespace servetwin
