#!/usr/bin/env python3
# Makes llama_logits.json: logits of tiny random Llamas, without this project's code. Two models run in
# Hugging Face transformers (Flax); the numpy forward pass must agree with them, then does what Flax cannot.
#
#   python3 -m venv build/hf_oracles
#   build/hf_oracles/bin/pip install jax==0.4.30 jaxlib==0.4.30 flax==0.8.5 transformers==4.44.2 \
#     'numpy<2' 'scipy<1.14'
#   build/hf_oracles/bin/python tests/oracles/make_llama_logits.py
#
# Weights are the pure function of (seed, tensor, element) that engine/models/weights.h describes.
import json
import math
import os
import sys

import numpy as np

MASK = np.uint64(0xFFFFFFFF)
K_WEIGHTS = 25  # Stream::kWeights


def philox4x32(counter, key):
    """Philox4x32-10 on arrays of counters (four uint64 arrays below 2^32); one key of two words."""
    c = [np.asarray(x, dtype=np.uint64) for x in counter]
    k0, k1 = key
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c[0]
        p1 = np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & MASK,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & MASK]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def units(seed, tensor, size):
    index = np.arange(size, dtype=np.uint64)
    same = lambda value: np.full(size, value, dtype=np.uint64)
    words = philox4x32((same(tensor & 0xFFFFFFFF), same(tensor >> 32), index, same(K_WEIGHTS << 16)),
                       (seed & 0xFFFFFFFF, seed >> 32))
    bits = (words[1] << np.uint64(32)) | words[0]
    odd = ((bits >> np.uint64(12)) << np.uint64(1)) | np.uint64(1)
    return odd.astype(np.float64) * 2.0 ** -53


def uniform(seed, tensor, shape, centre, spread):
    values = centre + (2.0 * units(seed, tensor, math.prod(shape)) - 1.0) * spread
    return values.astype(np.float32).reshape(shape)


def make_weights(c, seed):
    matrix = lambda tensor, rows, cols: uniform(seed, tensor, (rows, cols), 0.0, math.sqrt(3.0 / cols))
    norm = lambda tensor: uniform(seed, tensor, (c["hidden_size"],), 1.0, 0.1)
    hidden, inter = c["hidden_size"], c["intermediate_size"]
    dim = hidden // c["num_attention_heads"]
    kv = c["num_key_value_heads"] * dim
    w = {"embed": uniform(seed, 0, (c["vocab_size"], hidden), 0.0, 1.0), "norm": norm(1), "layers": []}
    w["head"] = w["embed"] if c["tie_word_embeddings"] else matrix(2, c["vocab_size"], hidden)
    for layer in range(c["num_hidden_layers"]):
        t = 16 * (layer + 1)
        one = {"input_norm": norm(t), "q": matrix(t + 1, hidden, hidden), "k": matrix(t + 2, kv, hidden),
               "v": matrix(t + 3, kv, hidden), "o": matrix(t + 7, hidden, hidden), "post_norm": norm(t + 8),
               "gate": matrix(t + 9, inter, hidden), "up": matrix(t + 10, inter, hidden),
               "down": matrix(t + 11, hidden, inter)}
        for i, name in enumerate("qkv"):
            width = hidden if name == "q" else kv
            biased = c["architectures"][0].startswith("Qwen2")
            one[name + "_bias"] = uniform(seed, t + 4 + i, (width,), 0.0, 0.1) if biased else np.zeros(width)
        w["layers"].append(one)
    return w


def rope_speeds(c, dim):
    """Rotation speeds and the factor on cosine and sine, from the papers' formulas."""
    theta = c["rope_theta"]
    scaling = c.get("rope_scaling") or {"rope_type": "default"}
    kind, factor = scaling["rope_type"], scaling.get("factor", 1.0)
    old = scaling.get("original_max_position_embeddings", c["max_position_embeddings"])
    if kind == "dynamic":
        longest = max(c["longest_served"], old)
        theta *= (factor * longest / old - (factor - 1)) ** (dim / (dim - 2))
    speeds = theta ** (-np.arange(0, dim, 2, dtype=np.float64) / dim)
    if kind in ("default", "dynamic"):
        return speeds, 1.0
    if kind == "linear":
        return speeds / factor, 1.0
    if kind == "llama3":
        turns = old * speeds / (2 * math.pi)  # over the old context
        keep = np.clip((turns - scaling["low_freq_factor"]) /
                       (scaling["high_freq_factor"] - scaling["low_freq_factor"]), 0, 1)
        return speeds * (keep + (1 - keep) / factor), 1.0
    if kind == "yarn":
        pair = lambda turns: dim * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(theta))
        low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), dim - 1)
        ramp = np.clip((np.arange(dim // 2) - low) / max(high - low, 1e-3), 0, 1)
        return speeds * (1 - ramp) + speeds / factor * ramp, 0.1 * math.log(factor) + 1.0
    raise ValueError(kind)


def numpy_logits(c, w, tokens):
    n, hidden, heads, kvh = len(tokens), c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    dim = hidden // heads
    speeds, magnitude = rope_speeds(c, dim)
    angles = np.arange(n)[:, None] * speeds
    cos, sin = np.cos(angles)[:, None] * magnitude, np.sin(angles)[:, None] * magnitude

    def norm(x, g):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"]) * g

    def rotate(x):
        a, b = x[..., : dim // 2], x[..., dim // 2:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    x = w["embed"][tokens].astype(np.float64)
    mask = np.triu(np.full((n, n), -np.inf), 1)
    for l in w["layers"]:
        h = norm(x, l["input_norm"])
        q = rotate((h @ l["q"].T.astype(np.float64) + l["q_bias"]).reshape(n, heads, dim))
        k = rotate((h @ l["k"].T + l["k_bias"]).reshape(n, kvh, dim)).repeat(heads // kvh, 1)
        v = (h @ l["v"].T + l["v_bias"]).reshape(n, kvh, dim).repeat(heads // kvh, 1)
        scores = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(dim) + mask
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhd->ihd", p, v).reshape(n, hidden) @ l["o"].T
        h = norm(x, l["post_norm"])
        gate = h @ l["gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ l["up"].T)) @ l["down"].T
    return norm(x, w["norm"]) @ w["head"].T


def hugging_face_logits(c, w, tokens):
    import jax
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_flax_llama import FlaxLlamaForCausalLM
    jax.config.update("jax_default_matmul_precision", "highest")
    skip = ("architectures", "longest_served")
    model = FlaxLlamaForCausalLM(LlamaConfig(**{k: v for k, v in c.items() if k not in skip}))
    layers = {}
    for i, l in enumerate(w["layers"]):
        attention = {name + "_proj": {"kernel": l[name].T} for name in "qkvo"}
        mlp = {name + "_proj": {"kernel": l[name].T} for name in ("gate", "up", "down")}
        layers[str(i)] = {"self_attn": attention, "mlp": mlp, "input_layernorm": {"weight": l["input_norm"]},
                          "post_attention_layernorm": {"weight": l["post_norm"]}}
    params = {"model": {"embed_tokens": {"embedding": w["embed"]}, "layers": layers,
                        "norm": {"weight": w["norm"]}},
              "lm_head": {"kernel": w["head"].T}}  # the Flax model does not tie it itself
    return np.asarray(model(np.asarray([tokens]), params=params).logits[0])


def config(**changes):
    c = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64,
         "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 61,
         "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "tie_word_embeddings": False, "torch_dtype": "float32", "longest_served": 64}
    c.update(changes)
    return c


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
MODELS = [
    ("hf grouped-query", "transformers", config()),
    ("hf tied, multi-head", "transformers",
     config(num_key_value_heads=4, tie_word_embeddings=True, rms_norm_eps=1e-6)),
    ("multi-query, large theta", "numpy", config(num_key_value_heads=1, rope_theta=500000.0)),
    ("qwen2 biases", "numpy", config(architectures=["Qwen2ForCausalLM"], rope_theta=1000000.0)),
    ("llama3 rope", "numpy", config(rope_theta=500000.0, rope_scaling=LLAMA3)),
    ("linear rope", "numpy", config(rope_scaling={"rope_type": "linear", "factor": 4.0})),
    ("dynamic rope", "numpy", config(max_position_embeddings=32,
                                     rope_scaling={"rope_type": "dynamic", "factor": 2.0})),
    ("yarn rope", "numpy", config(rope_scaling={"rope_type": "yarn", "factor": 4.0,
                                                "original_max_position_embeddings": 64})),
]


def main():
    rows = []
    for number, (name, source, c) in enumerate(MODELS):
        seed = 1000 + number
        w = make_weights(c, seed)
        tokens = [int(t) for t in np.random.default_rng(number).integers(0, c["vocab_size"], 40)]
        logits = numpy_logits(c, w, tokens)
        if source == "transformers":
            theirs = hugging_face_logits(c, w, tokens)
            error = float(np.abs(theirs - logits).max() / np.abs(theirs).max())
            print(f"{name}: numpy against transformers {error:.2e}", file=sys.stderr)
            assert error < 2e-5, error
            logits = theirs
        rows.append({"name": name, "source": source, "seed": seed, "config": c, "tokens": tokens,
                     "logits": [[float(f"{x:.7g}") for x in row] for row in logits.tolist()]})
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_logits.json")
    with open(path, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
