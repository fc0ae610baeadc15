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
OTHERS = {"self_attn.q_norm.weight": 0, "self_attn.k_norm.weight": 1}
WHOLE = {"model.embed_tokens.weight": 0, "model.norm.weight": 1, "lm_head.weight": 2}


class Maker:
    """The tensors of one model, by Hugging Face names."""

    def __init__(self, config, seed):
        self.config, self.seed = config, seed

    def draw(self, number, shape, is_norm=False, is_bias=False):
        if is_norm:
            return uniform(self.seed, number, shape, 1.0, 0.1)
        spread = 0.1 if is_bias else 1.0 if number == 0 else math.sqrt(3.0 / shape[-1])
        return uniform(self.seed, number, shape, 0.0, spread)

    def tensor(self, name, shape):
        is_norm = "norm" in name
        if name in WHOLE:
            return self.draw(WHOLE[name], shape, is_norm)
        layer, rest = name.removeprefix("model.layers.").split(".", 1)
        return self.in_layer(int(layer), rest, shape)

    def in_layer(self, layer, rest, shape):
        number = 16 * (layer + 1) + COMMON[rest] if rest in COMMON else 2 ** 20 + 32 * (layer + 1) + OTHERS[rest]
        return self.draw(number, shape, "norm" in rest, rest.endswith("bias"))


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
    with torch.no_grad():
        return model(torch.tensor([tokens]), use_cache=False).logits[0].numpy()


def config(arch, **changes):
    c = {"architectures": [arch], "num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 72, "vocab_size": 41, "max_position_embeddings": 512,
         "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "float32"}
    c.update(changes)
    return c


MODELS = [
    ("qwen3", config("Qwen3ForCausalLM", head_dim=20, rope_theta=1000000.0)),
    ("qwen3, tied, one KV head", config("Qwen3ForCausalLM", head_dim=8, num_key_value_heads=1,
                                        tie_word_embeddings=True)),
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
