#!/usr/bin/env python3
# Makes tests/oracles/tokenizers/: small tokenizers of each family, and what Hugging Face makes of texts.
"""
    python3 -m venv build/tokenizer_oracles
    build/tokenizer_oracles/bin/pip install tokenizers==0.21.4 gguf==0.19.0
    build/tokenizer_oracles/bin/python tests/oracles/make_tokenizers.py [FOLDER_OF_REAL_VOCABULARIES]

Each family is trained here on tokenizer_texts.json, saved as <family>.json, and asked for the ids and
decodings that ids.json records. With a folder that holds <name>.json or <name>.gguf of real vocabularies,
real_ids.json is made again too; the vocabularies themselves are not part of the project.
"""

import hashlib
import json
import os
import random
import sys
from collections import Counter

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")
SPACE = "\u2581"

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
DEEPSEEK3 = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]
DEEPSEEK2 = [
    r"[\r\n]",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺͰ-ͳΑ-ΡΣ-ҁ]+",
    "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
    r"\s+$",
    "[一-龥ࠀ-一가-퟿]+",
]
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

with open(os.path.join(os.path.dirname(HERE), "tokenizer_texts.json"), encoding="utf-8") as file:
    TEXTS = json.load(file)
# Broken UTF-8, as hexadecimal: a reader repairs it first.
BROKEN = [
    "61ff62",
    "c3",
    "e282",
    "f09f98",
    "c0af61",
    "eda080",
    "f4908080",
    "e28261",
    "ff" * 5,
    "c3a9c3",
    "80818261e4bd",
]


def corpus():
    return [text for text in TEXTS if len(text) > 3] * 3


def byte_level(vocab_size, steps, normalizer=None, add_prefix_space=False, use_regex=False):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    last = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps + [last]) if steps else last
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def splits(*patterns):
    return [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]


def with_bos(tokenizer, bos, eos=None):
    single = f"{bos} $A" + (f" {eos}" if eos else "")
    names = [name for name in (bos, eos) if name]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names]
    )


def odd_added(tokenizer):
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<pad>", normalized=False)]
    )
    tokenizer.add_tokens(
        [
            AddedToken("token", single_word=True, normalized=True),
            AddedToken("<r>", rstrip=True),
            AddedToken("<l>", lstrip=True, rstrip=True, normalized=False),
            AddedToken("e\u0301tok", normalized=True),
        ]
    )


def chat_added(tokenizer):
    tokenizer.add_special_tokens(
        [AddedToken(t, normalized=False) for t in ("<|im_start|>", "<|im_end|>", "<s>", "</s>")]
    )


def sentence_piece(vocab_size, normalizer, pre_tokenizer, decoder):
    """Trains pieces; merges are then all pairs whose joined text is a piece, as conversions make them."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Split(Regex(r"\n+"), "isolated")]
    )
    letters = Counter("".join(corpus()))
    kept = set(sorted(letters, key=lambda letter: (-letters[letter], letter))[:120])
    texts = ["".join(letter for letter in text if letter in kept) for text in corpus()]
    trained.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False))
    learned = sorted(trained.get_vocab().items(), key=lambda item: item[1])
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    pieces += [piece for piece, _ in learned if len(piece) > 1] + [
        piece for piece, _ in learned if len(piece) == 1
    ]
    if SPACE not in pieces:
        pieces.append(SPACE)
    vocab = {piece: i for i, piece in enumerate(pieces)}
    merges = []
    for piece in pieces[259:]:
        pairs = [
            (piece[:i], piece[i:])
            for i in range(1, len(piece))
            if piece[:i] in vocab and piece[i:] in vocab
        ]
        merges += sorted(pairs, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([AddedToken(t, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    with_bos(tokenizer, "<s>")
    return tokenizer


def text_decoder(strip):
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def families():
    gpt2 = byte_level(420, [], use_regex=True)
    odd_added(gpt2)
    prefixed = byte_level(300, [], add_prefix_space=True, use_regex=True)
    chat_added(prefixed)
    state = json.loads(byte_level(500, splits(LLAMA3)).to_str())
    state["model"]["ignore_merges"] = True
    state["model"]["vocab"]["Ġcafeteria"] = len(state["model"]["vocab"])  # no merges lead to it
    llama3 = Tokenizer.from_str(json.dumps(state))
    chat_added(llama3)
    with_bos(llama3, "<s>", "</s>")
    qwen2 = byte_level(500, splits(QWEN2), normalizer=normalizers.NFC())
    odd_added(qwen2)
    chat_added(qwen2)
    deepseek3 = byte_level(500, splits(*DEEPSEEK3))
    chat_added(deepseek3)
    smollm = byte_level(450, [pre_tokenizers.Digits(individual_digits=True)], use_regex=True)
    chat_added(smollm)
    legacy = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    phi3 = sentence_piece(420, legacy, None, text_decoder(True))
    phi3.add_special_tokens([AddedToken("<|im_end|>", rstrip=True, normalized=False)])
    return {
        "gpt2": gpt2,
        "gpt2_prefix_space": prefixed,
        "llama3": llama3,
        "qwen2": qwen2,
        "deepseek3": deepseek3,
        "smollm": smollm,
        "deepseek2": byte_level(400, splits(*DEEPSEEK2) + [pre_tokenizers.Digits(individual_digits=True)]),
        "tekken": byte_level(400, splits(TEKKEN)),
        "llama2": sentence_piece(600, legacy, None, text_decoder(True)),
        "phi3": phi3,
        "metaspace": sentence_piece(
            420, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), text_decoder(True)
        ),
        "metaspace_split": sentence_piece(
            420, None, pre_tokenizers.Metaspace(prepend_scheme="always", split=True), text_decoder(True)
        ),
        "gemma": sentence_piece(
            600,
            normalizers.Replace(" ", SPACE),
            pre_tokenizers.Split(" ", "merged_with_previous"),
            text_decoder(False),
        ),
    }


def encodings(tokenizer):
    rows = []
    for data in [text.encode() for text in TEXTS] + [bytes.fromhex(text) for text in BROKEN]:
        ids = tokenizer.encode(data.decode(errors="replace")).ids
        row = {"bytes": data.hex(), "ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)}
        plain = tokenizer.encode(data.decode(errors="replace"), add_special_tokens=False).ids
        if plain != ids:
            row["plain"] = plain
        tokenizer.encode_special_tokens = True
        text = tokenizer.encode(data.decode(errors="replace"), add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        if text != plain:
            row["unspecial"] = text
        rows.append(row)
    return rows


def decodings(tokenizer, seed):
    """Of random ids: broken characters, special tokens in the middle."""
    draw = random.Random(seed)
    rows = []
    for _ in range(40):
        low = draw.random() < 0.6  # mostly single bytes
        size = tokenizer.get_vocab_size()
        ids = [draw.randrange(min(size, 259) if low else size) for _ in range(draw.randrange(1, 12))]
        rows.append(
            {
                "ids": ids,
                "text": tokenizer.decode(ids, skip_special_tokens=False),
                "skipped": tokenizer.decode(ids, skip_special_tokens=True),
            }
        )
    return rows


def write(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")


def read_gguf(path):
    """A Hugging Face tokenizer of the vocabulary in a GGUF file that uses the smollm pre-tokeniser."""
    import gguf

    fields = gguf.GGUFReader(path).fields
    field = lambda name: fields["tokenizer.ggml." + name].contents()
    assert field("model") == "gpt2" and field("pre") == "smollm"
    tokens = field("tokens")
    merges = [tuple(merge.split(" ")) for merge in field("merges")]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, normalized=False)
            for token, kind in zip(tokens, field("token_type"))
            if kind == 3
        ]
    )
    return tokenizer


def real(folder):
    out = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        tokenizer = read_gguf(path) if name.endswith(".gguf") else Tokenizer.from_file(path)
        with open(path, "rb") as data:
            digest = hashlib.sha256(data.read()).hexdigest()
        out[name] = {"sha256": digest, "encode": encodings(tokenizer), "decode": decodings(tokenizer, 7)}
    return out


def main():
    os.makedirs(HERE, exist_ok=True)
    ids = {}
    for name, tokenizer in families().items():
        path = os.path.join(HERE, name + ".json")
        write(path, json.loads(tokenizer.to_str()))
        tokenizer = Tokenizer.from_file(path)
        ids[name] = {"encode": encodings(tokenizer), "decode": decodings(tokenizer, 5)}
    write(os.path.join(HERE, "ids.json"), ids)
    if len(sys.argv) > 1:
        write(os.path.join(HERE, "real_ids.json"), real(sys.argv[1]))


if __name__ == "__main__":
    main()
