#!/usr/bin/env python3
"""Writes a tiny Llama-shaped model with random weights as one GGUF file.

A real engine needs a real model file, and none can be downloaded where our tests run. The words it
produces mean nothing; its scheduler, tokenizer, stream and counters are the engine's own, which is what
the tests are about.

usage: tiny_model.py OUT.gguf TEXT...      (TEXT: files that the tokenizer is trained on)
needs: numpy, gguf, tokenizers
"""

import json
import sys

import gguf
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CONTEXT = 65536
WIDTH, LAYERS, HEADS, KV_HEADS, FEED_FORWARD = 96, 2, 3, 1, 192
HEAD = WIDTH // HEADS
END, START_TURN, END_TURN = "<end>", "<turn>", "</turn>"
TEMPLATE = (
    "{% for m in messages %}<turn>{{ m['role'] }}\n{{ m['content'] }}</turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<turn>assistant\n{% endif %}"
)


def train_tokenizer(files):
    """A byte-level BPE of 1,500 entries: every byte has a token, so any text can be encoded."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=[END, START_TURN, END_TURN],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train(files, trainer)
    return json.loads(tokenizer.to_str())


def write_vocabulary(out, tokenizer):
    by_id = sorted((index, text) for text, index in tokenizer["model"]["vocab"].items())
    special = {entry["id"] for entry in tokenizer["added_tokens"]}
    kinds = [gguf.TokenType.CONTROL if index in special else gguf.TokenType.NORMAL for index, _ in by_id]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["model"]["merges"]]
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list([text for _, text in by_id])
    out.add_token_types(kinds)
    out.add_token_merges(merges)
    out.add_bos_token_id(0)
    out.add_eos_token_id(2)
    out.add_pad_token_id(2)
    out.add_add_bos_token(False)
    out.add_chat_template(TEMPLATE)
    return len(by_id)


def write_weights(out, vocabulary):
    random = np.random.default_rng(7)

    def noise(name, *shape):
        out.add_tensor(name, random.normal(0.0, 0.02, shape).astype(np.float32))

    def ones(name):
        out.add_tensor(name, np.ones(WIDTH, np.float32))

    noise("token_embd.weight", vocabulary, WIDTH)
    # An output matrix of its own: with the embeddings reused, such a model repeats one word for ever.
    noise("output.weight", vocabulary, WIDTH)
    ones("output_norm.weight")
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        noise(f"{block}.attn_q.weight", HEADS * HEAD, WIDTH)
        noise(f"{block}.attn_k.weight", KV_HEADS * HEAD, WIDTH)
        noise(f"{block}.attn_v.weight", KV_HEADS * HEAD, WIDTH)
        noise(f"{block}.attn_output.weight", WIDTH, HEADS * HEAD)
        ones(f"{block}.ffn_norm.weight")
        noise(f"{block}.ffn_gate.weight", FEED_FORWARD, WIDTH)
        noise(f"{block}.ffn_up.weight", FEED_FORWARD, WIDTH)
        noise(f"{block}.ffn_down.weight", WIDTH, FEED_FORWARD)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out = gguf.GGUFWriter(sys.argv[1], "llama")
    out.add_name("tiny")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(FEED_FORWARD)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD)
    out.add_value_length(HEAD)
    out.add_rope_dimension_count(HEAD)
    out.add_rope_freq_base(10000.0)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    vocabulary = write_vocabulary(out, train_tokenizer(sys.argv[2:]))
    out.add_vocab_size(vocabulary)
    write_weights(out, vocabulary)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


main()
