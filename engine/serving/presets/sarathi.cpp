// Sarathi-Serve's scheduler: chunks share their steps with all decoders.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class Sarathi final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Sarathi(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{512};
    config.max_num_seqs = 128;
    config.prefix_caching = false;
    config.watermark = 0.01;
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.batch = "decodes_first";
    return names;
  }
};

const Registered<Preset, Sarathi> kSarathi{
    "sarathi",
    "Sarathi-Serve, fixed chunks (max_num_batched_tokens): decoders, begun prompts, new ones; 1 % watermark. "
    "Left out: its dynamic chunk schedules."};

}  // namespace
}  // namespace servetwin
