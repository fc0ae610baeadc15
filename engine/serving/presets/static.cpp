// Static batching as FasterTransformer serves: a padded batch, a whole context reserved for each request.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class Static final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Static(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{16384};
    config.max_num_seqs = 8;
    config.chunked_prefill = false;
    config.prefix_caching = false;
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.step = "static_batch";
    names.batch = "padded_prompts";
    names.admission = "reserve_context";
    return names;
  }
};

const Registered<Preset, Static> kStatic{
    "static",
    "Static batching (FasterTransformer): a batch runs, padded, until its last request has ended. Left out: "
    "waiting for a full batch, answers held back until the batch ends."};

}  // namespace
}  // namespace servetwin
