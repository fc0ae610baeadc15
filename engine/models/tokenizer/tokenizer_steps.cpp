// Reads normalizer, pre_tokenizer, post_processor and decoder as far as BPE families use them.
#include "engine/models/tokenizer/tokenizer_steps.h"

#include <utility>

namespace servetwin {
namespace {

// A step, or the steps of a Sequence, at any depth.
void flatten(const JsonReader& step, const std::string& list, std::vector<JsonReader>& out) {
  if (step.type() != "Sequence") {
    out.push_back(step);
    return;
  }
  for (const JsonReader& item : step.items(list)) flatten(item, list, out);
}

std::vector<JsonReader> steps_of(const JsonReader& file, const std::string& key, const std::string& list) {
  std::vector<JsonReader> steps;
  if (file.has(key)) flatten(file.at(key), list, steps);
  return steps;
}

[[noreturn]] void refuse_type(const JsonReader& step) {
  refuse_tokenizer(step.place(), "type '" + step.type() + "'");
}

ReplaceText read_replace(const JsonReader& step) {
  const JsonReader pattern = step.at("pattern");
  if (!pattern.has("String")) refuse_tokenizer(pattern.place(), "a pattern that is no String");
  ReplaceText replace{pattern.text("String"), step.text("content")};
  if (replace.from.empty()) reject_tokenizer(pattern.place(), "is empty");
  return replace;
}

SplitBehavior read_behavior(const JsonReader& step) {
  const std::string name = step.text("behavior");
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  refuse_tokenizer(step.place(), "behavior '" + name + "'");
}

SplitStep read_split(const JsonReader& step) {
  const JsonReader pattern = step.at("pattern");
  const SplitBehavior behavior = read_behavior(step);
  const bool invert = step.flag("invert", false);
  if (pattern.has("Regex")) {
    const JsonReader regex = pattern.at("Regex");
    return {Pattern(regex.text(), regex.place()), behavior, invert};
  }
  std::string plain = pattern.text("String");
  if (plain.empty()) reject_tokenizer(pattern.place(), "is empty");
  return {std::move(plain), behavior, invert};
}

void read_byte_level(const JsonReader& step, PreTokenizerSteps& out) {
  if (step.flag("add_prefix_space", true)) out.steps.emplace_back(PrefixSpaceStep{});
  if (step.flag("use_regex", true)) {
    out.steps.emplace_back(SplitStep{Pattern(kGpt2Pattern, step.place()), SplitBehavior::isolated, false});
  }
  out.alphabet = Alphabet::bytes;
}

MetaspaceStep read_metaspace(const JsonReader& step) {
  MetaspaceStep out;
  out.replacement = step.text("replacement");
  if (out.replacement != kMetaspace) refuse_tokenizer(step.place(), "replacement '" + out.replacement + "'");
  out.split = step.flag("split", true);
  if (!step.has("prepend_scheme")) {
    const bool prepends = step.flag("add_prefix_space", true);
    out.prepend = prepends ? MetaspaceStep::Prepend::always : MetaspaceStep::Prepend::never;
    return out;
  }
  const std::string scheme = step.text("prepend_scheme");
  if (scheme == "always")
    out.prepend = MetaspaceStep::Prepend::always;
  else if (scheme == "first")
    out.prepend = MetaspaceStep::Prepend::first;
  else if (scheme == "never")
    out.prepend = MetaspaceStep::Prepend::never;
  else
    refuse_tokenizer(step.place(), "prepend_scheme '" + scheme + "'");
  return out;
}

// TemplateProcessing of one text: special tokens around the sequence A.
Frame read_template(const JsonReader& step) {
  Frame frame;
  bool after = false;
  for (const JsonReader& item : step.items("single")) {
    if (item.has("Sequence")) {
      if (after) refuse_tokenizer(item.place(), "a second Sequence");
      after = true;
      continue;
    }
    const std::string name = item.at("SpecialToken").text("id");
    const JsonReader token = step.at("special_tokens").at(name);
    for (const JsonReader& id : token.items("ids")) {
      (after ? frame.suffix : frame.prefix).push_back(static_cast<TokenId>(id.integer()));
    }
  }
  if (!after) refuse_tokenizer(step.place(), "a template without its text");
  return frame;
}

// Strip is understood where the text is one string already: after Fuse.
bool read_strip(const JsonReader& step, bool fused) {
  const bool leading_space = step.text("content") == " " && step.at("stop").integer() == 0;
  if (!leading_space || !fused || step.at("start").integer() > 1) {
    refuse_tokenizer(step.place(), "Strip of anything but one leading space after Fuse");
  }
  return step.at("start").integer() == 1;
}

}  // namespace

std::vector<NormalizerStep> read_normalizer(const JsonReader& file) {
  std::vector<NormalizerStep> out;
  for (const JsonReader& step : steps_of(file, "normalizer", "normalizers")) {
    const std::string type = step.type();
    if (type == "NFC")
      out.emplace_back(ComposeText{});
    else if (type == "Prepend")
      out.emplace_back(PrependText{step.text("prepend")});
    else if (type == "Replace")
      out.emplace_back(read_replace(step));
    else
      refuse_type(step);
  }
  return out;
}

PreTokenizerSteps read_pre_tokenizer(const JsonReader& file) {
  PreTokenizerSteps out;
  for (const JsonReader& step : steps_of(file, "pre_tokenizer", "pretokenizers")) {
    if (out.alphabet == Alphabet::bytes) refuse_tokenizer(step.place(), "a step after ByteLevel");
    const std::string type = step.type();
    if (type == "Split") {
      out.steps.emplace_back(read_split(step));
    } else if (type == "Digits") {
      const std::string digits = step.flag("individual_digits", false) ? "\\p{N}" : "\\p{N}+";
      out.steps.emplace_back(SplitStep{Pattern(digits, step.place()), SplitBehavior::isolated, false});
    } else if (type == "ByteLevel") {
      read_byte_level(step, out);
    } else if (type == "Metaspace") {
      out.steps.emplace_back(read_metaspace(step));
    } else {
      refuse_type(step);
    }
  }
  return out;
}

Frame read_post_processor(const JsonReader& file) {
  Frame frame;
  bool framed = false;
  for (const JsonReader& step : steps_of(file, "post_processor", "processors")) {
    const std::string type = step.type();
    if (type == "ByteLevel") continue;  // concerns offsets only
    if (type != "TemplateProcessing" || framed) refuse_type(step);
    frame = read_template(step);
    framed = true;
  }
  return frame;
}

Decoder read_decoder(const JsonReader& file) {
  const std::vector<JsonReader> steps = steps_of(file, "decoder", "decoders");
  if (steps.empty()) refuse_tokenizer(file.place().at("decoder"), "a file without a decoder");
  Decoder out;
  out.rules.alphabet = Alphabet::text;
  bool fused = false;
  for (const JsonReader& step : steps) {
    const std::string type = step.type();
    if (out.rules.alphabet == Alphabet::bytes || out.strip_first_space) refuse_type(step);
    if (type == "ByteLevel" && steps.size() == 1)
      out.rules.alphabet = Alphabet::bytes;
    else if (type == "Replace" && !fused && !out.rules.byte_fallback)
      out.rules.replacements.push_back(read_replace(step));
    else if (type == "ByteFallback" && !fused)
      out.rules.byte_fallback = true;
    else if (type == "Fuse")
      fused = true;
    else if (type == "Strip")
      out.strip_first_space = read_strip(step, fused);
    else
      refuse_type(step);
  }
  return out;
}

}  // namespace servetwin
