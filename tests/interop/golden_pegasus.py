#!/usr/bin/env python3
"""A small encoder-decoder as Hugging Face's PegasusForConditionalGeneration saves it, and the
logits that this class computes.

    python3 tests/interop/golden_pegasus.py tests/model/golden/pegasus

writes config.json, model.safetensors and expected.safetensors ("source", "ids", "logits"),
which tests/model/test_golden.c must find again. The forward pass follows the class's
definition and shares no code with the C program. Needs numpy only.
"""
import json
import os
import sys

import numpy as np

from golden_models import (F64, Weights, join_heads, mask, softmax, split_heads,
                           write_safetensors)

CONFIG = {
    "model_type": "pegasus", "architectures": ["PegasusForConditionalGeneration"],
    "vocab_size": 11, "max_position_embeddings": 16, "d_model": 8,
    "encoder_layers": 2, "decoder_layers": 3,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 10, "decoder_ffn_dim": 10, "activation_function": "gelu_new",
    "dropout": 0.1, "scale_embedding": True, "is_encoder_decoder": True,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
}


def linear(w, name, x, out):
    return x @ w(name + ".weight", out, x.shape[-1]).T + w(name + ".bias", out)


def layer_norm(w, name, x):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    gain = w(name + ".weight", x.shape[-1], gain=True)
    return gain * (x - mean) / np.sqrt(variance + 1e-5) + w(name + ".bias", x.shape[-1])


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def positions(T, C):
    angles = np.array([[p / 10000 ** (2 * (j // 2) / C) for j in range(C)] for p in range(T)])
    return np.concatenate([np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])], axis=1)


def attention(w, at, x, source, heads, hidden):
    C = x.shape[1]
    q = split_heads(linear(w, at + ".q_proj", x, C) * (C // heads) ** -0.5, heads)
    k = split_heads(linear(w, at + ".k_proj", source, C), heads)
    v = split_heads(linear(w, at + ".v_proj", source, C), heads)
    return linear(w, at + ".out_proj", join_heads(softmax(q @ k.transpose(0, 2, 1) + hidden) @ v), C)


def feed_forward(w, at, x, width):
    y = layer_norm(w, at + ".final_layer_norm", x)
    return x + linear(w, at + ".fc2", gelu_new(linear(w, at + ".fc1", y, width)), x.shape[1])


def embed(w, ids, c):
    scale = np.sqrt(c["d_model"]) if c["scale_embedding"] else 1.0
    table = w("model.shared.weight", c["vocab_size"], c["d_model"])
    return table[ids] * scale + positions(len(ids), c["d_model"])


def encode(w, ids, c):
    x = embed(w, ids, c)
    for layer in range(c["encoder_layers"]):
        at = "model.encoder.layers.%d" % layer
        y = layer_norm(w, at + ".self_attn_layer_norm", x)
        x = x + attention(w, at + ".self_attn", y, y, c["encoder_attention_heads"], 0.0)
        x = feed_forward(w, at, x, c["encoder_ffn_dim"])
    return layer_norm(w, "model.encoder.layer_norm", x)


def logits(w, source, ids, c):
    e = encode(w, source, c)
    x = embed(w, ids, c)
    heads = c["decoder_attention_heads"]
    for layer in range(c["decoder_layers"]):
        at = "model.decoder.layers.%d" % layer
        y = layer_norm(w, at + ".self_attn_layer_norm", x)
        x = x + attention(w, at + ".self_attn", y, y, heads, mask(len(ids), None))
        y = layer_norm(w, at + ".encoder_attn_layer_norm", x)
        x = x + attention(w, at + ".encoder_attn", y, e, heads, 0.0)
        x = feed_forward(w, at, x, c["decoder_ffn_dim"])
    return layer_norm(w, "model.decoder.layer_norm", x) @ w("model.shared.weight").T


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    weights = Weights(17)
    source = weights.random.randint(0, CONFIG["vocab_size"], 7)
    ids = weights.random.randint(0, CONFIG["vocab_size"], 12)
    result = logits(weights, source, ids, CONFIG)
    weights["final_logits_bias"] = np.zeros((1, CONFIG["vocab_size"]), F64)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file, indent=1)
        file.write("\n")
    write_safetensors(os.path.join(folder, "model.safetensors"), weights)
    write_safetensors(os.path.join(folder, "expected.safetensors"),
                      {"source": source.astype(np.int32), "ids": ids.astype(np.int32),
                       "logits": result})


if __name__ == "__main__":
    main()
