#!/usr/bin/env python3
# Makes family_logits.json: logits of tiny random models of each family, by Hugging Face transformers in f32.
#
#   python3 -m venv build/hf_torch
#   build/hf_torch/bin/pip install torch==2.4.1 transformers==4.56.2 'numpy<2'
#   build/hf_torch/bin/python tests/oracles/make_family_logits.py
#
# Weights are the pure function of (seed, tensor, element) that engine/models/weights.h describes.
import json
import math
import os
import sys

import numpy as np
import torch
import transformers

from make_llama_logits import uniform

# Tensors that every family has stand at 16 (layer + 1), the others at 2^20 + 32 (layer + 1).
COMMON = {"input_layernorm.weight": 0, "self_attn.q_proj.weight": 1, "self_attn.k_proj.weight": 2,
          "self_attn.v_proj.weight": 3, "self_attn.q_proj.bias": 4, "self_attn.k_proj.bias": 5,
          "self_attn.v_proj.bias": 6, "self_attn.o_proj.weight": 7, "post_attention_layernorm.weight": 8,
          "mlp.gate_proj.weight": 9, "mlp.up_proj.weight": 10, "mlp.down_proj.weight": 11}
OTHERS = {"self_attn.q_norm.weight": 0, "self_attn.k_norm.weight": 1, "mlp.gate.weight": 4,
          "block_sparse_moe.gate.weight": 4, "mlp.gate.e_score_correction_bias": 5,
          "mlp.shared_experts.gate_proj.weight": 9, "mlp.shared_experts.up_proj.weight": 10,
          "mlp.shared_experts.down_proj.weight": 11, "self_attn.q_a_proj.weight": 12,
          "self_attn.q_a_layernorm.weight": 13, "self_attn.kv_a_proj_with_mqa.weight": 14,
          "self_attn.kv_a_layernorm.weight": 15, "self_attn.kv_b_proj.weight": 16}
EXPERT = {"w1": 6, "gate_proj": 6, "w3": 7, "up_proj": 7, "w2": 8, "down_proj": 8}
# Where a layer has four norms, the name that others give to the second of two means another.
SANDWICH = {"pre_feedforward_layernorm.weight": 8, "post_attention_layernorm.weight": 2 ** 20 + 2,
            "post_feedforward_layernorm.weight": 2 ** 20 + 3}
WHOLE = {"model.embed_tokens.weight": 0, "model.norm.weight": 1, "lm_head.weight": 2}


class Maker:
    """The tensors of one model, by Hugging Face names."""

    def __init__(self, config, seed):
        self.config, self.seed = config, seed

    def draw(self, number, shape, is_norm=False, is_bias=False):
        if is_norm:
            values = uniform(self.seed, number, shape, 1.0, 0.1)
            return values - np.float32(1) if self.config["architectures"][0].startswith("Gemma3") else values
        spread = 0.1 if is_bias else 1.0 if number == 0 else math.sqrt(3.0 / shape[-1])
        return uniform(self.seed, number, shape, 0.0, spread)

    def tensor(self, name, shape):
        is_norm = "norm" in name
        if name in WHOLE:
            return self.draw(WHOLE[name], shape, is_norm)
        layer, rest = name.removeprefix("model.layers.").split(".", 1)
        return self.in_layer(int(layer), rest, shape)

    def in_layer(self, layer, rest, shape):
        if rest == "self_attn.q_b_proj.weight":
            rest = "self_attn.q_proj.weight"
        if rest in ("self_attn.qkv_proj.weight", "mlp.gate_up_proj.weight"):
            return self.fused(layer, rest, shape)
        if ".experts." in rest:
            _, expert, matrix, _ = rest.rsplit(".", 3)
            return self.expert(layer, int(expert), EXPERT[matrix], shape)
        return self.draw(self.number(layer, rest), shape, "norm" in rest, "bias" in rest)

    def number(self, layer, rest):
        common, others = 16 * (layer + 1), 32 * (layer + 1)
        if self.config["architectures"][0].startswith("Gemma3") and rest in SANDWICH:
            number = SANDWICH[rest]
            return number + (others if number >= 2 ** 20 else common)
        return common + COMMON[rest] if rest in COMMON else 2 ** 20 + others + OTHERS[rest]

    def fused(self, layer, rest, shape):
        c = self.config
        dim = c["hidden_size"] // c["num_attention_heads"]
        kv = c["num_key_value_heads"] * dim
        inter = c["intermediate_size"]
        parts = ([("self_attn.q_proj.weight", c["hidden_size"]), ("self_attn.k_proj.weight", kv),
                  ("self_attn.v_proj.weight", kv)] if "qkv" in rest
                 else [("mlp.gate_proj.weight", inter), ("mlp.up_proj.weight", inter)])
        return np.concatenate([self.draw(self.number(layer, name), (rows, shape[1])) for name, rows in parts])

    def expert(self, layer, expert, place, shape):
        count = self.config.get("num_local_experts") or self.config.get("num_experts") or \
            self.config["n_routed_experts"]
        stack = self.draw(2 ** 20 + 32 * (layer + 1) + place, (count * shape[0], shape[1]))
        return stack[expert * shape[0]:(expert + 1) * shape[0]]


def logits_of(config, seed, tokens):
    arch = getattr(transformers, config["architectures"][0])
    settings = {k: v for k, v in config.items() if k not in ("architectures", "torch_dtype")}
    model = arch(arch.config_class(**settings, attn_implementation="eager")).float().eval()
    maker = Maker(config, seed)
    tied = config["tie_word_embeddings"]
    weights = {name: torch.from_numpy(maker.tensor(name, tuple(value.shape)))
               for name, value in model.state_dict().items() if not (tied and name == "lm_head.weight")}
    missing = model.load_state_dict(weights, strict=False)
    assert not missing.unexpected_keys and set(missing.missing_keys) <= {"lm_head.weight"}, missing
    # Gemma 3's code reads the cap of its scores and does not hand it on; its attention takes it.
    cap = {"softcap": config["attn_logit_softcapping"]} if "attn_logit_softcapping" in config else {}
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False, **cap).logits[0].numpy()


def config(arch, **changes):
    c = {"architectures": [arch], "num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 72, "vocab_size": 41, "max_position_embeddings": 512,
         "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "float32"}
    c.update(changes)
    return c


PHI = {"pad_token_id": 0}
LONG = {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
        "long_factor": [1.0, 1.5, 2.5, 4.0, 8.0, 12.0]}
GEMMA = {"head_dim": 16, "sliding_window": 8, "rope_local_base_freq": 500.0, "query_pre_attn_scalar": 20,
         "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True}
DEEPSEEK = {"num_key_value_heads": 4, "kv_lora_rank": 20, "q_lora_rank": 28, "qk_nope_head_dim": 10,
            "qk_rope_head_dim": 6, "v_head_dim": 14, "n_routed_experts": 8, "num_experts_per_tok": 3,
            "moe_intermediate_size": 24, "n_shared_experts": 2, "first_k_dense_replace": 1,
            "routed_scaling_factor": 2.5, "num_hidden_layers": 3}
MSCALE = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "mscale": 1.0,
          "mscale_all_dim": 0.7, "beta_fast": 32, "beta_slow": 1}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
MODELS = [
    ("qwen3", config("Qwen3ForCausalLM", head_dim=20, rope_theta=1000000.0)),
    ("qwen3, tied, one KV head", config("Qwen3ForCausalLM", head_dim=8, num_key_value_heads=1,
                                        tie_word_embeddings=True)),
    ("qwen3, upper layer with a window", config("Qwen3ForCausalLM", head_dim=12, sliding_window=9,
                                                use_sliding_window=True, max_window_layers=1)),
    ("qwen2, biases", config("Qwen2ForCausalLM", rope_theta=1000000.0)),
    ("qwen2, upper layer with a window", config("Qwen2ForCausalLM", sliding_window=9, max_window_layers=1,
                                                use_sliding_window=True, tie_word_embeddings=True)),
    ("llama3 rope", config("LlamaForCausalLM", rope_scaling=LLAMA3)),
    ("linear rope", config("LlamaForCausalLM", rope_scaling={"rope_type": "linear", "factor": 4.0})),
    ("yarn rope", config("LlamaForCausalLM", rope_scaling=YARN, max_position_embeddings=256)),
    ("mistral, window", config("MistralForCausalLM", sliding_window=8)),
    ("mistral, no window, own head length", config("MistralForCausalLM", sliding_window=None, head_dim=16)),
    ("phi3", config("Phi3ForCausalLM", sliding_window=16, **PHI)),
    ("phi3, partly rotated", config("Phi3ForCausalLM", partial_rotary_factor=0.5, num_attention_heads=3,
                                    num_key_value_heads=1, **PHI)),
    ("phi3, long", config("Phi3ForCausalLM", original_max_position_embeddings=32, rope_scaling=LONG, **PHI)),
    ("phi3, short", config("Phi3ForCausalLM", original_max_position_embeddings=256, rope_scaling=LONG,
                           **PHI)),
    ("mixtral", config("MixtralForCausalLM", num_local_experts=5, num_experts_per_tok=2,
                       sliding_window=None)),
    ("qwen3-moe", config("Qwen3MoeForCausalLM", head_dim=12, num_experts=8, num_experts_per_tok=3,
                         moe_intermediate_size=24, norm_topk_prob=True)),
    ("qwen3-moe, shares of all", config("Qwen3MoeForCausalLM", head_dim=12, num_experts=6,
                                        num_experts_per_tok=2, moe_intermediate_size=24,
                                        norm_topk_prob=False)),
    ("gemma3", config("Gemma3ForCausalLM", sliding_window_pattern=3, num_hidden_layers=6, **GEMMA)),
    ("gemma3, caps, one layer in two, scaled", config(
        "Gemma3ForCausalLM", num_hidden_layers=2, attn_logit_softcapping=2.0, final_logit_softcapping=5.0,
        layer_types=["sliding_attention", "full_attention"],
        rope_scaling={"rope_type": "linear", "factor": 8.0}, **GEMMA)),
    ("deepseek-v2, greedy", config("DeepseekV2ForCausalLM", topk_method="greedy",
                                   n_group=1, topk_group=1, **(DEEPSEEK | {"q_lora_rank": None}))),
    ("deepseek-v2, groups", config("DeepseekV2ForCausalLM", topk_method="group_limited_greedy", n_group=4,
                                   topk_group=2, **(DEEPSEEK | {"routed_scaling_factor": 16.0}))),
    ("deepseek-v3", config("DeepseekV3ForCausalLM", n_group=4, topk_group=2, norm_topk_prob=True,
                           **DEEPSEEK)),
    ("deepseek-v3, yarn", config("DeepseekV3ForCausalLM", n_group=1, topk_group=1, norm_topk_prob=True,
                                 rope_scaling=MSCALE, **DEEPSEEK)),
]


def main():
    rows = []
    for number, (name, c) in enumerate(MODELS):
        seed = 2000 + number
        tokens = [int(t) for t in np.random.default_rng(seed).integers(0, c["vocab_size"], 40)]
        logits = logits_of(c, seed, tokens)
        print(f"{name}: largest logit {np.abs(logits).max():.3f}", file=sys.stderr)
        rows.append({"name": name, "seed": seed, "config": c, "tokens": tokens,
                     "logits": [[float(f"{x:.6g}") for x in row] for row in logits.tolist()]})
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "family_logits.json")
    with open(path, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
