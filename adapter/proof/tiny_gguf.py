"""A tiny model for the proof of an image: a Llama of two layers whose weights are arithmetic, so the same everywhere.

Its matrices are quantized as real ones are (Q4_K, Q8_0) or kept (F16, F32), so that a decode goes through the kernels
that a deployment uses. Needs nothing but numpy, since it is written in the build of the image.
"""

import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

EMBEDDING = 256
FEED_FORWARD = 512
LAYERS = 2
HEADS = 4
KEY_HEADS = 2
HEAD_SIZE = EMBEDDING // HEADS
VOCABULARY = 256
EPSILON = 1e-5
ROPE_BASE = 10_000.0

PROMPT = tuple((7 * position * position + 3 * position + 1) % VOCABULARY for position in range(90))
"""The token ids that are decoded: as many as take the way of long decodes, in a number that divides nothing."""

MAGIC, VERSION, ALIGNMENT = b"GGUF", 3, 32
F32, F16, Q8_0, Q4_K = 0, 1, 8, 12
"""``ggml_type`` of the tensors here."""
UINT32, FLOAT32, STRING = 4, 6, 8
"""``gguf_type`` of the metadata here."""
BLOCK = 256
SUB_BLOCK = 32

METADATA: Mapping[str, tuple[int, int | float | str]] = {
    "general.architecture": (STRING, "llama"),
    "llama.vocab_size": (UINT32, VOCABULARY),
    "llama.context_length": (UINT32, 1024),
    "llama.embedding_length": (UINT32, EMBEDDING),
    "llama.block_count": (UINT32, LAYERS),
    "llama.feed_forward_length": (UINT32, FEED_FORWARD),
    "llama.attention.head_count": (UINT32, HEADS),
    "llama.attention.head_count_kv": (UINT32, KEY_HEADS),
    "llama.attention.layer_norm_rms_epsilon": (FLOAT32, EPSILON),
    "llama.rope.dimension_count": (UINT32, HEAD_SIZE),
    "llama.rope.freq_base": (FLOAT32, ROPE_BASE),
    "tokenizer.ggml.model": (STRING, "no_vocab"),
}


class Tensor:
    """A tensor as it is stored, and the values that its bytes stand for: float64, shape (rows, columns)."""

    def __init__(self, kind: int, stored: bytes, values: NDArray[np.float64]) -> None:
        self.kind = kind
        self.stored = stored
        self.values = values


def tensors() -> dict[str, Tensor]:
    """Every tensor of the model by its name in a GGUF."""
    model = {
        "token_embd.weight": _half("token_embd.weight", VOCABULARY, EMBEDDING, 8.0),
        "output_norm.weight": _norm("output_norm.weight"),
        "output.weight": _bytes_scaled("output.weight", VOCABULARY, EMBEDDING, 2.5),
    }
    shapes: dict[str, tuple[Callable[[str, int, int, float], Tensor], int, int, float]] = {
        "attn_q": (_super_blocks, EMBEDDING, EMBEDDING, 1.5),
        "attn_k": (_super_blocks, KEY_HEADS * HEAD_SIZE, EMBEDDING, 1.5),
        "attn_v": (_bytes_scaled, KEY_HEADS * HEAD_SIZE, EMBEDDING, 1.0),
        "attn_output": (_super_blocks, EMBEDDING, EMBEDDING, 1.0),
        "ffn_gate": (_super_blocks, FEED_FORWARD, EMBEDDING, 1.0),
        "ffn_up": (_bytes_scaled, FEED_FORWARD, EMBEDDING, 1.0),
        "ffn_down": (_super_blocks, EMBEDDING, FEED_FORWARD, 0.7),
    }
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            name = f"blk.{layer}.{norm}.weight"
            model[name] = _norm(name)
        for part, (quantize, rows, columns, gain) in shapes.items():
            name = f"blk.{layer}.{part}.weight"
            model[name] = quantize(name, rows, columns, gain)
    return model


def write(path: Path) -> Path:
    """Write the model to ``path``; returns it. The same bytes each time."""
    model = tensors()
    header = [MAGIC, struct.pack("<IQQ", VERSION, len(model), len(METADATA))]
    for key, (kind, value) in METADATA.items():
        header += [_string(key), struct.pack("<I", kind), _value(kind, value)]
    offset = 0
    for name, tensor in model.items():
        sizes = tensor.values.shape[::-1]  # ggml names the fastest dimension first
        header += [_string(name), struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)]
        header.append(struct.pack("<IQ", tensor.kind, offset))
        offset += len(tensor.stored) + _padding(len(tensor.stored))
    start = b"".join(header)
    with path.open("wb") as file:
        for part in (start, *(tensor.stored for tensor in model.values())):
            file.write(part + bytes(_padding(len(part))))
    return path


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(kind: int, value: int | float | str) -> bytes:
    if isinstance(value, str):
        return _string(value)
    return struct.pack("<I" if kind == UINT32 else "<f", value)


def _padding(size: int) -> int:
    return -size % ALIGNMENT


def _numbers(name: str, count: int, below: int) -> NDArray[np.int64]:
    """``count`` integers from 0 to ``below`` - 1 that look random: a mixing of their place and the tensor's name."""
    mixed = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(zlib.crc32(name.encode()))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(33)) % np.uint64(below)).astype(np.int64)


def _norm(name: str) -> Tensor:
    values = 1 + (_numbers(name, EMBEDDING, 256) - 128) / 1024
    return Tensor(F32, values.astype("<f4").tobytes(), values)


def _half(name: str, rows: int, columns: int, gain: float) -> Tensor:
    spread = (_numbers(name, rows * columns, 256) - 127.5) / 74  # a standard deviation of 1
    values = (spread * gain / np.sqrt(columns)).astype("<f2").reshape(rows, columns)
    return Tensor(F16, values.tobytes(), values.astype(np.float64))


def _bytes_scaled(name: str, rows: int, columns: int, gain: float) -> Tensor:
    """Q8_0: blocks of 32, each a scale and 32 signed bytes."""
    scale = np.array(gain / np.sqrt(columns) / 73, dtype="<f2")
    steps = (_numbers(name, rows * columns, 255) - 127).astype(np.int8).reshape(-1, SUB_BLOCK)
    scales = np.full((len(steps), 1), scale)
    stored = np.concatenate([scales.view(np.uint8), steps.view(np.uint8)], axis=1)
    return Tensor(Q8_0, stored.tobytes(), (steps * float(scale)).astype(np.float64).reshape(rows, columns))


def _super_blocks(name: str, rows: int, columns: int, gain: float) -> Tensor:
    """Q4_K: blocks of 256, each two scales, and for 8 blocks of 32 a scale, a minimum and 32 half bytes.

    Scale and minimum of a block of 32 are the same number below 16 here, so that the packing of 6 bits is plain, and
    the minimum's own scale is 7.5 times the other, so that values spread around 0.
    """
    count = rows * columns // BLOCK
    scale = np.array(gain / np.sqrt(columns) / 53, dtype="<f2")
    least = np.array(7.5 * float(scale), dtype="<f2")
    steps = _numbers(name, rows * columns, 16).astype(np.uint8).reshape(count, 8, SUB_BLOCK)
    sizes = (8 + _numbers(f"{name} scales", count * 8, 8)).astype(np.uint8).reshape(count, 8)
    first, second = sizes[:, :4], sizes[:, 4:]
    packed = np.concatenate([first, first, second | second << 4], axis=1)
    halves = (steps[:, 0::2] | steps[:, 1::2] << 4).reshape(count, -1)
    both = np.tile(np.array([scale, least]).view(np.uint8), (count, 1))
    stored = np.concatenate([both, packed, halves], axis=1)
    values = sizes[:, :, None] * (float(scale) * steps.astype(np.float64) - float(least))
    return Tensor(Q4_K, stored.tobytes(), values.reshape(rows, columns))
