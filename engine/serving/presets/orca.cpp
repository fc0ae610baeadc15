// ORCA as Sarathi-Serve's baseline defines it: iteration-level batches of whole prompts and decoders, a whole
// context reserved for each request.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class Orca final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Orca(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{16384};
    config.max_num_seqs = 128;
    config.chunked_prefill = false;
    config.prefix_caching = false;
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.admission = "reserve_context";
    return names;
  }
};

const Registered<Preset, Orca> kOrca{
    "orca",
    "ORCA as in Sarathi-Serve's baseline: whole prompts beside decoders, max_model_len reserved for each. "
    "Left "
    "out: the paper's selective batching inside a layer, which is a matter of the cost model."};

}  // namespace
}  // namespace servetwin
