// The small rules people swap. No rule allocates, frees or edits a plan: the step builder asks, the rule
// answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/composition.h"
#include "engine/serving/config.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"
#include "engine/serving/rule_context.h"
#include "engine/serving/waiting_order.h"

namespace servetwin {

struct ChunkView {
  const RequestSpec* request = nullptr;
  Tokens rest{};          // tokens not yet computed
  Tokens budget{};        // left in this step
  bool running = false;   // false: it would be admitted with this chunk
  std::int64_t rows = 0;  // already in this step
  Tokens longest{};       // of them
};

// How much of a prompt (or of what must be recomputed) one step computes; a decoder's one token is not asked
// about. Nothing: the scan ends here (a prompt that must go in whole does not fit).
class BatchRule {
 public:
  virtual ~BatchRule() = default;
  virtual std::optional<Tokens> chunk(const ChunkView& view, const EngineConfig& config) const = 0;
  virtual Composition composition() const { return Composition::kRunningFirst; }
  // Whether a request takes the blocks of its whole sequence when it enters rather than chunk by chunk.
  virtual bool whole_sequence_blocks() const { return false; }
  // Whether a decoder goes on only while a block is free, needed or not.
  virtual bool spare_block() const { return false; }
  // kPrefillAlone: whether the waiting may enter now, which lets the decoders wait.
  virtual bool prefill_now(const PhaseView& /*view*/) const { return true; }
};

struct AdmissionView {
  Blocks free{};             // in the free queue now
  Blocks need_chunk{};       // that the first chunk takes from it
  Blocks need_sequence{};    // that the whole current sequence would take
  Blocks need_completion{};  // that prompt and max_tokens would take
  Blocks promised{};         // that the running ones may still take up to their max_tokens
  Blocks usable{};           // the pool
  std::int64_t running = 0;
  const RequestSpec* request = nullptr;
  Time now = kTimeZero;
  Blocks promised_now{};  // of `promised`, to those that entered in this plan
  PressureHistory pressure;
};

// May this head enter? The reason of a refusal, or nothing. A refusal ends the scan, unless the rule skips.
class AdmissionRule {
 public:
  using MakeContext = RuleContext;
  virtual ~AdmissionRule() = default;
  virtual std::optional<HeldReason> refuse(const AdmissionView& view, const EngineConfig& config) const = 0;
  // How often others may enter past one that was refused; it ends the scan after that.
  virtual std::int64_t most_skips() const { return 0; }
  // Whether it asks the settings watermark and full_sequence_gate.
  virtual bool keeps_watermark() const { return false; }
  virtual RuleListener* listener() { return nullptr; }
};

struct RunningView {
  const RequestSpec* request = nullptr;
  Tokens computed{};
  Tokens outputs{};  // so far
  std::int64_t preemptions = 0;
  Blocks alone{};  // that nobody else holds: what is gained by taking them; where the rule asks
};

// Whose KV is taken back when blocks run out; an index into the running list, never past its end.
class VictimRule {
 public:
  using MakeContext = RuleContext;
  virtual ~VictimRule() = default;
  // Whether it asks for RunningView::alone.
  virtual bool sees_blocks() const { return false; }
  virtual std::size_t pick(const std::vector<RunningView>& running) const = 0;
  // Steps of decoders alone: if not all have room, some go before any is scheduled, until each that remains
  // has room for so many tokens. 0: whoever finds no room makes it.
  virtual Tokens room_each() const { return Tokens{0}; }
};

struct PressureView {
  const RequestSpec* request = nullptr;
  Tokens computed{};  // whose KV it holds
  Blocks blocks{};    // that hold them
  Blocks host_free{};
};

enum class Pressure : std::uint8_t {
  kRecompute,  // the KV is dropped and computed again
  kSwap        // it is copied to the host and back; only where `blocks` fit into `host_free`
};

// What becomes of a victim's KV.
class PressureRule {
 public:
  using MakeContext = RuleContext;
  virtual ~PressureRule() = default;
  virtual Pressure decide(const PressureView& view, const EngineConfig& config) const = 0;
  // Whether it may ever swap: the engine needs a host tier then.
  virtual bool swaps() const = 0;
};

class StepBuilder;
struct ReplicaCore;

// What makes the steps of a replica: vLLM's loop with its rules, or one of the forms that rules cannot say.
class StepForm {
 public:
  virtual ~StepForm() = default;
  virtual std::unique_ptr<StepBuilder> builder(ReplicaCore& replica) const = 0;
  // The decode shortcut does not know this form.
  virtual bool plain_loop() const { return true; }
  // Whether it asks the admission and batch rules.
  virtual bool asks_rules() const { return true; }
};

struct RuleSet {
  std::unique_ptr<WaitingOrder> waiting_order;
  std::unique_ptr<BatchRule> batch;
  std::unique_ptr<AdmissionRule> admission;
  std::unique_ptr<VictimRule> victim;
  std::unique_ptr<PressureRule> pressure;
  std::unique_ptr<YieldRule> yield;      // null: nobody gives way
  std::unique_ptr<Predictor> predictor;  // null: nobody predicts
  std::unique_ptr<StepForm> step;        // none: the loop with its rules
};

}  // namespace servetwin
