"""What the tiny model's logits are: the same arithmetic as llama.cpp's, in float64 and nothing but numpy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from proof import tiny_gguf as tiny

Array = NDArray[np.float64]


def logits(tokens: Sequence[int]) -> Array:
    """The logits after each of ``tokens``: float64, shape (tokens, vocabulary)."""
    weights = {name: tensor.values for name, tensor in tiny.tensors().items()}
    hidden = weights["token_embd.weight"][list(tokens)]
    for layer in range(tiny.LAYERS):
        part = {name: weights[f"blk.{layer}.{name}.weight"] for name in _PARTS}
        hidden = hidden + _attention(_norm(hidden, part["attn_norm"]), part)
        hidden = hidden + _feed_forward(_norm(hidden, part["ffn_norm"]), part)
    result: Array = _norm(hidden, weights["output_norm.weight"]) @ weights["output.weight"].T
    return result


_PARTS = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


def _norm(values: Array, weight: Array) -> Array:
    result: Array = values / np.sqrt((values**2).mean(-1, keepdims=True) + tiny.EPSILON) * weight
    return result


def _attention(values: Array, part: dict[str, Array]) -> Array:
    count = len(values)
    queries, keys, read = ((values @ part[name].T).reshape(count, -1, tiny.HEAD_SIZE) for name in _PARTS[1:4])
    repeats = tiny.HEADS // tiny.KEY_HEADS
    keys, read = _rotate(keys).repeat(repeats, 1), read.repeat(repeats, 1)
    scores = np.einsum("ihd,jhd->hij", _rotate(queries), keys) / np.sqrt(tiny.HEAD_SIZE)
    scores += np.triu(np.full((count, count), -np.inf), 1)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    mixed: Array = np.einsum("hij,jhd->ihd", shares, read).reshape(count, -1) @ part["attn_output"].T
    return mixed


def _rotate(values: Array) -> Array:
    """Rotary positions: each pair of neighbours turned by its own angle."""
    count, _, size = values.shape
    angles = np.arange(count)[:, None, None] * tiny.ROPE_BASE ** (-np.arange(0, size, 2) / size)
    even, odd = values[..., 0::2], values[..., 1::2]
    turned = np.empty_like(values)
    turned[..., 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    turned[..., 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return turned


def _feed_forward(values: Array, part: dict[str, Array]) -> Array:
    gate = values @ part["ffn_gate"].T
    result: Array = (gate / (1 + np.exp(-gate)) * (values @ part["ffn_up"].T)) @ part["ffn_down"].T
    return result
