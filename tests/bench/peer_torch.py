"""The same GPT in PyTorch, as a peer to check against and to race.

    python3 tests/bench/peer_torch.py DUMP check       same loss, same gradients?
    python3 tests/bench/peer_torch.py DUMP time STEPS  seconds of each training step

DUMP is a folder that `jueju bench --dump DUMP` wrote. Written for this comparison: only what
the model needs, in the form that PyTorch runs fastest on a CPU.
"""

import json
import math
import struct
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {"F32": torch.float32, "I32": torch.int32}


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        flat = torch.frombuffer(data[begin:end], dtype=DTYPES[info["dtype"]])
        tensors[name] = flat.reshape(info["shape"]).clone()
    return tensors


class Model:
    """Weights are (in, out), as in the file: y = x W + b is torch.addmm."""

    def __init__(self, folder):
        with open(folder + "/config.json") as file:
            config = json.load(file)
        self.layers, self.heads = config["n_layer"], config["n_head"]
        self.eps = config["layer_norm_epsilon"]
        self.weights = read_safetensors(folder + "/model.safetensors")
        for weight in self.weights.values():
            weight.requires_grad_(True)

    def get(self, name):
        return self.weights["transformer." + name]

    def norm(self, x, name):
        gain, bias = self.get(name + ".weight"), self.get(name + ".bias")
        return F.layer_norm(x, x.shape[-1:], gain, bias, self.eps)

    def linear(self, x, name):
        weight, bias = self.get(name + ".weight"), self.get(name + ".bias")
        return torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight)

    def attention(self, x, name, mask):
        B, T, C = x.shape
        D = C // self.heads
        qkv = self.linear(x, name + ".c_attn").view(B, T, 3, self.heads, D)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if hasattr(F, "scaled_dot_product_attention"):
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(D)) + mask
            z = scores.softmax(-1) @ v
        return self.linear(z.transpose(1, 2).reshape(B, T, C), name + ".c_proj").view(B, T, C)

    def loss(self, ids, targets):
        B, T = ids.shape
        x = self.get("wte.weight")[ids] + self.get("wpe.weight")[:T]
        mask = torch.full((T, T), -math.inf).triu(1)
        for layer in range(self.layers):
            h = f"h.{layer}."
            x = x + self.attention(self.norm(x, h + "ln_1"), h + "attn", mask)
            up = self.linear(self.norm(x, h + "ln_2"), h + "mlp.c_fc")
            x = x + self.linear(F.gelu(up, approximate="tanh"), h + "mlp.c_proj").view(x.shape)
        x = self.norm(x, "ln_f").view(B * T, -1)
        return F.cross_entropy(x @ self.get("wte.weight").t(), targets.reshape(-1))


def check(model, step):
    loss = model.loss(step["ids"].long(), step["targets"].long())
    loss.backward()
    worst = abs(loss.item() - step["loss"].item()) / abs(step["loss"].item())
    print(f"loss {loss.item():.7f}, ours {step['loss'].item():.7f}")
    for name, weight in model.weights.items():
        ours = step[name].view(weight.shape)
        error = ((weight.grad - ours).norm() / weight.grad.norm()).item()
        worst = max(worst, error)
        if not error <= 1e-4:
            print(f"{name}: relative error {error:.2e}")
    print(f"worst relative error {worst:.2e} over {len(model.weights)} tensors")
    return 0 if worst <= 1e-4 else 1


def time_steps(model, step, steps):
    ids, targets = step["ids"].long(), step["targets"].long()
    options = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    weights = list(model.weights.values())
    try:
        optimizer = torch.optim.AdamW(weights, fused=True, **options)
    except (RuntimeError, TypeError):
        optimizer = torch.optim.AdamW(weights, foreach=True, **options)
    for number in range(steps + 2):
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        model.loss(ids, targets).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        if number >= 2:
            print(ids.numel() / (time.perf_counter() - began))
    return 0


def main():
    folder, what = sys.argv[1], sys.argv[2]
    model = Model(folder)
    step = read_safetensors(folder + "/step.safetensors")
    if what == "check":
        sys.exit(check(model, step))
    sys.exit(time_steps(model, step, int(sys.argv[3])))


main()
