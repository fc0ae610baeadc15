// llama.cpp server's steps: a fixed number of slots, each of which keeps the text of its last request.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/params.h"
#include "engine/serving/step_builder.h"

namespace servetwin {

struct SlotParams {
  double similarity = 0.1;

  template <class Visitor>
  void fields(Visitor& v) {
    v("similarity", similarity,
      "Share of a prompt that an idle slot must hold to be chosen for it; else the least recently used is.",
      Range{0.0, 1.0});
  }
};

// A token for every slot that generates, then prompts in order of slots up to the batch size.
class SlotBuilder final : public StepBuilder {
 public:
  SlotBuilder(ReplicaCore& replica, const SlotParams& params);

  bool build(Time now) override;

 private:
  struct Place {
    bool busy = false;
    Slot slot = kNoSlot;
    RequestSpec text;       // of its last request
    std::int64_t held = 0;  // tokens of it that are computed
    std::uint64_t last_used = 0;
  };

  void free_places();
  std::optional<HeldReason> assign();
  bool take_place(Slot slot);
  Place* idle_place(const RequestSpec& spec);
  void generate();
  bool run_prompts();
  void enter(const Place& place);
  std::size_t index_of(Slot slot) const;

  const SlotParams params_;
  std::vector<Place> places_;
  std::vector<Slot> looked_at_;  // waiting; they have left their queue
  std::uint64_t plans_ = 0;
};

}  // namespace servetwin
