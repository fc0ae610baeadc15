#!/usr/bin/env python3
# Makes tests/oracles/gemma3_logits.json: what a real Gemma 3 computes, by Hugging Face transformers in f32.
"""How it is made, with the environment of hugging_face.py:

    tools/setup --test-extras
    build/hf_torch/bin/python tests/oracles/make_gemma3_logits.py build/gemma3/gemma-3-270m-q4_k_m.gguf

Of each position the fixture has the 32 largest logits and the logarithm of the sum of the exponentials
of all. The last sequence is longer than the window of 512 tokens; only its end is kept.
"""
import json
import os
import sys

import numpy as np

from hugging_face import largest, load, logits_of

BEGIN = 2  # <bos>
LENGTH = 24
LONG = 540
KEPT = 8


def drawn(seed, count, vocab):
    ids, state = [], seed
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        ids.append(state // 7 % vocab)
    return ids


def continued(model, ids, length):
    """Greedily, so that what follows is text."""
    while len(ids) < length:
        ids = ids + [int(np.argmax(logits_of(model, ids)[-1]))]
    return ids


def number(value):
    return float(f"{value:.7g}")


def positions(rows):
    for row in rows:
        ids, logits, log_sum = largest(row)
        yield {"ids": ids.tolist(), "logits": [number(v) for v in logits], "log_sum": number(log_sum)}


def main():
    model = load(sys.argv[1])
    vocab = model.config.vocab_size
    sequences = []
    for ids in [continued(model, [BEGIN] + drawn(3, 4, vocab), LENGTH), [BEGIN] + drawn(4, LENGTH - 1, vocab),
                [BEGIN] + drawn(5, LONG - 1, vocab)]:
        kept = logits_of(model, ids)[-KEPT if len(ids) == LONG else 0:]
        sequences.append({"tokens": ids, "positions": list(positions(kept))})
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "gemma3_logits.json"), "w") as file:
        rows = ",\n".join(json.dumps(one, separators=(",", ":")) for one in sequences)
        file.write(f'{{"sequences": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
