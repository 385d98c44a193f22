#!/usr/bin/env python3
"""Small models as Hugging Face's classes save them, and the logits that those classes compute.

    python3 tests/interop/golden_models.py tests/model/golden

writes, for each model, a folder with config.json, model.safetensors and expected.safetensors
("ids" and "logits"). tests/model/test_golden.c loads the folders and must find the same
logits. The forward passes below follow the definitions of LlamaForCausalLM, MistralForCausalLM
and DeepseekV3ForCausalLM; they share no code with the C program. Needs numpy only.
"""
import json
import os
import struct
import sys

import numpy as np

F64 = np.float64


def write_safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        kind = "I32" if array.dtype == np.int32 else "F32"
        raw = array.astype("<i4" if kind == "I32" else "<f4").tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Weights(dict):
    """Random float32 tensors, made when they are first asked for by name and shape."""

    def __init__(self, seed):
        super().__init__()
        self.random = np.random.RandomState(seed)

    def __call__(self, name, *shape, gain=False):
        if name not in self:
            scale = 0.3 if gain else 1.2 / np.sqrt(shape[-1])
            values = self.random.standard_normal(shape) * scale + (1 if gain else 0)
            self[name] = values.astype(np.float32)
        return self[name].astype(F64)


def rms_norm(x, weight, eps):
    return weight * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def rotary(T, size, theta):
    frequencies = 1.0 / theta ** (np.arange(0, size, 2) / size)
    angles = np.outer(np.arange(T), frequencies)
    angles = np.concatenate([angles, angles], axis=-1)
    return np.cos(angles), np.sin(angles)


def rotate_half(x):
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


def turn(x, cos, sin):  # x (heads, T, size)
    return x * cos + rotate_half(x) * sin


def pairs_first(x):
    """(a0 b0 a1 b1 ...) -> (a0 a1 ... b0 b1 ...): what rope_interleave does before turning."""
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)


def mask(T, window):
    i, j = np.arange(T)[:, None], np.arange(T)[None, :]
    visible = j <= i
    if window is not None:
        visible &= j > i - window
    return np.where(visible, 0.0, -np.inf)


def split_heads(x, heads):  # (T, heads * size) -> (heads, T, size)
    T = x.shape[0]
    return x.reshape(T, heads, -1).transpose(1, 0, 2)


def join_heads(x):
    return x.transpose(1, 0, 2).reshape(x.shape[1], -1)


def linear(w, name, x, out):
    y = x @ w(name + ".weight", out, x.shape[-1]).T
    return y


def llama_attention(w, at, x, c):
    H, G, D = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    q = linear(w, at + "q_proj", x, H * D)
    k = linear(w, at + "k_proj", x, G * D)
    v = linear(w, at + "v_proj", x, G * D)
    if c.get("attention_bias"):
        q = q + w(at + "q_proj.bias", H * D)
        k = k + w(at + "k_proj.bias", G * D)
        v = v + w(at + "v_proj.bias", G * D)
    T = x.shape[0]
    cos, sin = rotary(T, D, c["rope_theta"])
    q, k = turn(split_heads(q, H), cos, sin), turn(split_heads(k, G), cos, sin)
    k = np.repeat(k, H // G, axis=0)
    v = np.repeat(split_heads(v, G), H // G, axis=0)
    p = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(D) + mask(T, c.get("sliding_window")))
    y = linear(w, at + "o_proj", join_heads(p @ v), x.shape[1])
    if c.get("attention_bias"):
        y = y + w(at + "o_proj.bias", x.shape[1])
    return y


def deepseek_attention(w, at, x, c):
    H, R = c["num_attention_heads"], c["kv_lora_rank"]
    P, O, E = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    T = x.shape[0]
    if c["q_lora_rank"] is None:
        q = linear(w, at + "q_proj", x, H * (P + O))
    else:
        latent = linear(w, at + "q_a_proj", x, c["q_lora_rank"])
        gain = w(at + "q_a_layernorm.weight", c["q_lora_rank"], gain=True)
        q = linear(w, at + "q_b_proj", rms_norm(latent, gain, 1e-6), H * (P + O))
    q = split_heads(q, H)
    q_pass, q_rot = q[..., :P], q[..., P:]
    both = linear(w, at + "kv_a_proj_with_mqa", x, R + O)
    latent, k_rot = both[:, :R], both[None, :, R:]
    gain = w(at + "kv_a_layernorm.weight", R, gain=True)
    kv = split_heads(linear(w, at + "kv_b_proj", rms_norm(latent, gain, 1e-6), H * (P + E)), H)
    k_pass, v = kv[..., :P], kv[..., P:]
    cos, sin = rotary(T, O, c["rope_theta"])
    q_rot = turn(pairs_first(q_rot), cos, sin)
    k_rot = np.repeat(turn(pairs_first(k_rot), cos, sin), H, axis=0)
    q = np.concatenate([q_pass, q_rot], axis=-1)
    k = np.concatenate([k_pass, k_rot], axis=-1)
    p = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(P + O) + mask(T, None))
    return linear(w, at + "o_proj", join_heads(p @ v), x.shape[1])


def mlp(w, at, x, c):
    F, C = c["intermediate_size"], x.shape[1]
    gate = linear(w, at + "gate_proj", x, F)
    up = linear(w, at + "up_proj", x, F)
    if c.get("mlp_bias"):
        gate = gate + w(at + "gate_proj.bias", F)
        up = up + w(at + "up_proj.bias", F)
    y = linear(w, at + "down_proj", silu(gate) * up, C)
    if c.get("mlp_bias"):
        y = y + w(at + "down_proj.bias", C)
    return y


def logits(w, ids, c):
    V, C, eps = c["vocab_size"], c["hidden_size"], c["rms_norm_eps"]
    attention = deepseek_attention if c["model_type"] == "deepseek_v3" else llama_attention
    table = w("model.embed_tokens.weight", V, C)
    x = table[ids]
    for layer in range(c["num_hidden_layers"]):
        at = "model.layers.%d." % layer
        norm = w(at + "input_layernorm.weight", C, gain=True)
        x = x + attention(w, at + "self_attn.", rms_norm(x, norm, eps), c)
        norm = w(at + "post_attention_layernorm.weight", C, gain=True)
        x = x + mlp(w, at + "mlp.", rms_norm(x, norm, eps), c)
    x = rms_norm(x, w("model.norm.weight", C, gain=True), eps)
    head = table if c["tie_word_embeddings"] else w("lm_head.weight", V, C)
    return x @ head.T


COMMON = {
    "vocab_size": 11, "hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2,
    "num_attention_heads": 4, "hidden_act": "silu", "max_position_embeddings": 16,
    "rms_norm_eps": 1e-3, "tie_word_embeddings": True, "attention_bias": False,
}
LATENT = {
    "num_key_value_heads": 4, "kv_lora_rank": 5, "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 4, "v_head_dim": 2, "rope_interleave": True,
    "first_k_dense_replace": 2, "n_routed_experts": None, "rope_theta": 30.0,
}
MODELS = {
    "llama": dict(COMMON, model_type="llama", architectures=["LlamaForCausalLM"],
                  num_key_value_heads=2, head_dim=6, rope_theta=50.0, mlp_bias=False,
                  tie_word_embeddings=False),
    "llama-biases": dict(COMMON, model_type="llama", architectures=["LlamaForCausalLM"],
                         num_key_value_heads=1, head_dim=2, rope_theta=10000.0,
                         attention_bias=True, mlp_bias=True),
    "mistral": dict(COMMON, model_type="mistral", architectures=["MistralForCausalLM"],
                    num_key_value_heads=4, head_dim=4, rope_theta=20.0, sliding_window=3),
    "deepseek": dict(COMMON, model_type="deepseek_v3", q_lora_rank=6,
                     architectures=["DeepseekV3ForCausalLM"], **LATENT),
    "deepseek-no-query-latent": dict(COMMON, model_type="deepseek_v3", q_lora_rank=None,
                                     architectures=["DeepseekV3ForCausalLM"], **LATENT),
}


def main():
    for seed, (name, config) in enumerate(MODELS.items()):
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        weights = Weights(seed)
        ids = weights.random.randint(0, config["vocab_size"], 12)
        result = logits(weights, ids, config)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1)
            file.write("\n")
        write_safetensors(os.path.join(folder, "model.safetensors"), weights)
        write_safetensors(os.path.join(folder, "expected.safetensors"),
                          {"ids": ids.astype(np.int32), "logits": result})


if __name__ == "__main__":
    main()
