#!/usr/bin/env python3
# Makes gguf_blocks.json: blocks of GGUF's number formats with their values, and a whole small file.
"""How it is made:

    python3 -m venv build/gguf_oracle
    build/gguf_oracle/bin/pip install gguf==0.19.0 'numpy<2'
    build/gguf_oracle/bin/python tests/oracles/make_gguf_blocks.py

Values are those of the Python package `gguf`, which belongs to llama.cpp, as the bits of f32.
"""
import json
import os
import tempfile

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants

TYPES = {"F32": (1, 4), "F16": (1, 2), "BF16": (1, 2), "Q4_0": (32, 18), "Q4_1": (32, 20),
         "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34), "Q4_K": (256, 144),
         "Q5_K": (256, 176), "Q6_K": (256, 210)}
# Where the f16 scales of a block are.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208]}


def random_blocks(draw, name, count):
    """Random bits everywhere, and scales that are finite numbers of every size down to subnormal ones."""
    _, size = TYPES[name]
    blocks = draw.integers(0, 256, (count, size), dtype=np.uint8)
    for place in SCALES.get(name, []):
        scale = draw.integers(0, 0x7C00, count, dtype=np.uint16)
        scale |= (draw.integers(0, 2, count) << 15).astype(np.uint16)
        blocks[:, place:place + 2] = scale.view(np.uint8).reshape(count, 2)
    return blocks


def finite(blocks, name):
    values = quants.dequantize(blocks, GGMLQuantizationType[name]).astype(np.float32)
    return values, np.isfinite(values).all(axis=-1)


def block_case(draw, name):
    elements, _ = TYPES[name]
    wanted = 3 if elements == 256 else 8 if elements == 32 else 64
    blocks = random_blocks(draw, name, 4 * wanted)
    values, good = finite(blocks, name)
    blocks, values = blocks[good][:wanted], values[good][:wanted]
    assert len(blocks) == wanted
    return {"type": name, "blocks": blocks.tobytes().hex(), "values": values.astype("<f4").tobytes().hex()}


def small_file(draw):
    """Every type of metadata value, and one tensor of f32 and one of Q8_0."""
    path = os.path.join(tempfile.mkdtemp(), "small.gguf")
    writer = GGUFWriter(path, "llama")
    for kind, value in [("uint8", 200), ("int8", -100), ("uint16", 60000), ("int16", -30000),
                        ("uint32", 4000000000), ("int32", -2000000000), ("uint64", 1 << 62),
                        ("int64", -(1 << 62)), ("float32", 0.5), ("float64", 0.1), ("bool", True),
                        ("string", "h\u00e9llo")]:
        getattr(writer, "add_" + kind)("a." + kind, value)
    writer.add_array("a.texts", ["one", "", "three"])
    writer.add_array("a.integers", [1, -2, 3])
    writer.add_array("a.numbers", [0.5, 0.25])
    writer.add_array("a.flags", [True, False])
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    blocks = random_blocks(draw, "Q8_0", 2).reshape(2, 34)
    writer.add_tensor("plain", plain)
    writer.add_tensor("packed", blocks, raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open(path, "rb") as file:
        return {"file": file.read().hex(), "plain": plain.tobytes().hex(), "packed": blocks.tobytes().hex()}


def main():
    draw = np.random.default_rng(7)
    blocks = [block_case(draw, name) for name in TYPES]
    result = {"made_by": "tests/oracles/make_gguf_blocks.py", "blocks": blocks, "small": small_file(draw)}
    with open(os.path.join(os.path.dirname(__file__), "gguf_blocks.json"), "w") as file:
        json.dump(result, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
