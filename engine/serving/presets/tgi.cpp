// TGI 2: prompts interrupt the decoders once enough wait, and everything is reserved up front.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class Tgi final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Tgi(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{4096};
    config.max_num_seqs = 128;
    config.chunked_prefill = false;
    config.prefix_caching = false;
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.batch = "merge_prefill";
    names.admission = "conservative";
    return names;
  }
};

const Registered<Preset, Tgi> kTgi{
    "tgi",
    "TGI 2: new prompts are merged once 1.2 wait for each that runs or 20 tokens have passed; input and "
    "max_tokens reserved. Left out: giving a batch back that came out too small, prefix caching, "
    "speculation."};

}  // namespace
}  // namespace servetwin
