# What the scripts that ask Hugging Face transformers about a real GGUF file have in common.
"""A Python that has what they need:

    python3 -m venv build/hf_torch
    build/hf_torch/bin/pip install torch==2.4.1 transformers==4.56.2 accelerate==1.15.0 gguf==0.19.0 'numpy<2'
"""
import os

import numpy as np
import torch
from transformers import AutoModelForCausalLM

TOP = 32


def load(file):
    """transformers reads the file itself: the package `gguf` dequantises it to f32."""
    folder, name = os.path.split(file)
    return AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, torch_dtype=torch.float32, attn_implementation="eager"
    ).eval()


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0].double().numpy()


def largest(row):
    """Ids and values of a position's largest logits, and the logarithm of the sum of all exponentials."""
    best = np.argsort(-row, kind="stable")[:TOP]
    return best, row[best], row[best[0]] + np.log(np.exp(row - row[best[0]]).sum())
