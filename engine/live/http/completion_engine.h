// What stands between HTTP and the world that serves: requests in, answers out, by id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/decoding/sampling_params.h"
#include "engine/serving/end_state.h"
#include "engine/serving/request.h"

namespace servetwin {

class Cluster;

struct ChatMessage {
  std::string role;
  std::string content;
};

// A conversation, plain text, or token ids.
using PromptInput = std::variant<std::vector<ChatMessage>, std::string, std::vector<TokenId>>;

// What the core and the executor need of a prompt.
struct Prompt {
  Tokens length{};
  std::vector<TokenId> tokens;          // empty where there is no tokenizer
  std::vector<ContentSegment> content;  // by which prompts share KV blocks
  std::uint64_t fingerprint = 0;        // equal for equal prompts
};

// One answer. A client that wants several choices sends several of these.
struct CompletionRequest {
  Prompt prompt;
  Tokens max_tokens{};
  SamplingParams sampling;         // min_tokens and ignore_eos too
  bool seeded = false;             // the client gave the seed: the same call has the same answer
  std::vector<std::string> stops;  // strings that end the answer
  bool include_stop = false;       // the stop string is part of the answer
  std::uint32_t choice = 0;        // choices of one prompt differ
  std::int32_t priority = 0;
  std::uint64_t cache_salt = 0;
};

struct AnswerEnd {
  EndState state = EndState::kFailed;
  EndReason reason = EndReason::kNone;
  Tokens outputs{};
  Tokens cached{};
};

struct NamedLogprob {
  TokenId token = 0;
  std::optional<std::string> bytes{};  // of its text; nothing for an id that says nothing
  float logprob = 0;                   // of the model itself, before penalties and temperature
};

// A token of an answer whose call asked for log-probabilities.
struct TokenReport {
  NamedLogprob chosen;
  std::vector<NamedLogprob> top{};  // the most likely, best first
  std::int64_t offset = 0;          // characters of the answer that began before it
};

using TokenReports = std::vector<TokenReport>;

// Who is told of answers, on the engine's threads.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  // The next piece of the text; `tokens` have been generated so far. Where the call asked for
  // log-probabilities, each of them is reported once.
  virtual void append(RequestId request,
                      std::string_view text,
                      std::int64_t tokens,
                      TokenReports reports) = 0;
  virtual void end(RequestId request, const AnswerEnd& end) = 0;
};

struct ModelCard {
  std::string id;    // the name by which clients ask for it
  std::string root;  // what it is
  Tokens max_model_len{};
  bool has_tokenizer = false;
  std::string tokens;  // how prompts are counted, in a sentence
};

// All calls may come from any thread.
class CompletionEngine {
 public:
  virtual ~CompletionEngine() = default;
  virtual const ModelCard& card() const = 0;
  // Throws ApiException for what can be no prompt of this model.
  virtual Prompt prepare(const PromptInput& input) const = 0;
  // Where the card has a tokenizer; `framed`: with what the model wants before and after a text.
  virtual std::vector<TokenId> tokenize(const PromptInput& /*input*/, bool /*framed*/) const { return {}; }
  virtual std::string detokenize(const std::vector<TokenId>& /*tokens*/) const { return ""; }
  // An id for submit() and scrape(); no other call has been or will be given it.
  virtual RequestId new_id() = 0;
  // False when too much waits already: the listener hears nothing then. Otherwise it hears of exactly one
  // end.
  virtual bool submit(RequestId id, CompletionRequest request) = 0;
  // Before the next step. Requests that ended, or never were, are no error.
  virtual void cancel(RequestId id) = 0;
  // The listener is told the metrics in Prometheus' text format as if they were the answer.
  virtual bool scrape(RequestId id) = 0;
  // Why it serves no more, when what computes has failed: all answers have ended then. Empty while it serves.
  virtual std::string failure() const { return ""; }
  // Ends when all answers have; nothing may be submitted any more. What the core has decided is final then.
  virtual const Cluster& stop() = 0;
};

}  // namespace servetwin
