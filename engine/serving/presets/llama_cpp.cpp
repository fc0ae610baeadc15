// llama.cpp's server with parallel slots and continuous batching.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class LlamaCpp final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LlamaCpp(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_seqs = 4;
    config.block_size = Tokens{1};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.step = "slots";
    return names;
  }
};

const Registered<Preset, LlamaCpp> kLlamaCpp{
    "llama-cpp",
    "llama.cpp server (December 2025), max_num_seqs slots of max_model_len tokens, n_batch = "
    "max_num_batched_tokens, no context shift. Left out: the unified KV cache, the prompt cache in RAM."};

}  // namespace
}  // namespace servetwin
