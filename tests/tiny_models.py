"""Tiny GGUFs with random weights, one for each kind of llama.cpp memory: about a megabyte, decoded in milliseconds.

The same bytes each time. The vocabulary is the 256 bytes, some pairs, and the control tokens of ChatML, so every text
can be tokenised and every answer letter is a token.
"""

import zlib
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np

EMBEDDING = 64
CHATML = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def write_tiny_model(path: Path, kind: str) -> Path:
    """Write the model of a kind (a key of ARCHITECTURES) to `path`; returns it."""
    architecture, tensors = ARCHITECTURES[kind]
    writer = gguf.GGUFWriter(path, architecture)
    tensors(Weights(writer, architecture))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class Weights:
    """Adds metadata and seeded random tensors to a GGUF."""

    def __init__(self, writer: gguf.GGUFWriter, architecture: str) -> None:
        self.writer = writer
        self._seed = zlib.crc32(architecture.encode())

    def random(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self._seed, zlib.crc32(name.encode())])

    def exact(self, name: str, values: np.ndarray) -> None:
        self.writer.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))

    def matrix(self, name: str, rows: int, columns: int, gain: float = 1.0) -> None:
        values = self.random(name).standard_normal((rows, columns)) * gain / np.sqrt(columns)
        self.writer.add_tensor(name, values.astype(np.float16))

    def norm(self, name: str, *shape: int) -> None:
        self.exact(name, 1 + 0.1 * self.random(name).standard_normal(shape))

    def model(self, layers: int, feed_forward: int, embedding_gain: float = 8.0) -> None:
        """What every architecture has."""
        writer = self.writer
        writer.add_context_length(8192)
        writer.add_embedding_length(EMBEDDING)
        writer.add_block_count(layers)
        writer.add_feed_forward_length(feed_forward)
        writer.add_layer_norm_rms_eps(1e-6)
        tokens = self._vocabulary()
        self.matrix("token_embd.weight", tokens, EMBEDDING, embedding_gain)
        self.norm("output_norm.weight", EMBEDDING)
        self.matrix("output.weight", tokens, EMBEDDING, 2.5)

    def heads(self, queries: int, keys: int, size: int) -> None:
        self.writer.add_head_count(queries)
        self.writer.add_head_count_kv(keys)
        self.writer.add_key_length(size)
        self.writer.add_value_length(size)

    def attention(self, layer: str, queries: int, keys: int, size: int, gated: bool = False) -> None:
        self.norm(f"{layer}attn_norm.weight", EMBEDDING)
        self.matrix(f"{layer}attn_q.weight", queries * size * (2 if gated else 1), EMBEDDING, 1.5)
        self.matrix(f"{layer}attn_k.weight", keys * size, EMBEDDING, 1.5)
        self.matrix(f"{layer}attn_v.weight", keys * size, EMBEDDING)
        self.matrix(f"{layer}attn_output.weight", EMBEDDING, queries * size)

    def feed_forward(self, layer: str, size: int) -> None:
        self.matrix(f"{layer}ffn_gate.weight", size, EMBEDDING)
        self.matrix(f"{layer}ffn_up.weight", size, EMBEDDING)
        self.matrix(f"{layer}ffn_down.weight", EMBEDDING, size, 0.7)

    def _vocabulary(self) -> int:
        printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
        others = iter(range(256, 512))
        alphabet = [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
        space = alphabet[ord(" ")]
        merges = [f"{space} {letter}" for letter in "abcdeinost0123456789"] + ["t h", "i n", "e r"]
        tokens = [*alphabet, *(merge.replace(" ", "") for merge in merges), *CONTROL]
        types = [gguf.TokenType.NORMAL] * (len(tokens) - len(CONTROL)) + [gguf.TokenType.CONTROL] * len(CONTROL)
        writer = self.writer
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_list(tokens)
        writer.add_token_types(types)
        writer.add_token_merges(merges)
        writer.add_bos_token_id(tokens.index("<|endoftext|>"))
        writer.add_eos_token_id(tokens.index("<|im_end|>"))
        writer.add_add_bos_token(False)
        writer.add_chat_template(CHATML)
        return len(tokens)


def _llama(weights: Weights, layers: int = 3) -> None:
    weights.model(layers, 2 * EMBEDDING)
    weights.heads(4, 2, 16)
    weights.writer.add_rope_dimension_count(16)
    for layer in (f"blk.{number}." for number in range(layers)):
        weights.attention(layer, 4, 2, 16)
        weights.norm(f"{layer}ffn_norm.weight", EMBEDDING)
        weights.feed_forward(layer, 2 * EMBEDDING)


def _gemma3(weights: Weights, layers: int = 6) -> None:
    weights.model(layers, 2 * EMBEDDING, embedding_gain=1.0)  # the architecture scales embeddings itself
    weights.heads(4, 2, 16)
    weights.writer.add_sliding_window(32)
    for layer in (f"blk.{number}." for number in range(layers)):
        weights.attention(layer, 4, 2, 16)
        for name in ("attn_q_norm", "attn_k_norm"):
            weights.norm(f"{layer}{name}.weight", 16)
        for name in ("post_attention_norm", "ffn_norm", "post_ffw_norm"):
            weights.norm(f"{layer}{name}.weight", EMBEDDING)
        weights.feed_forward(layer, 2 * EMBEDDING)


def _mamba2(weights: Weights, layers: int = 3) -> None:
    inner, state, groups, convolution = 2 * EMBEDDING, 32, 2, 4
    heads, channels = inner // 32, inner + 2 * groups * state
    weights.model(layers, 0)
    _state_space(weights, convolution=convolution, inner=inner, state=state, heads=heads, groups=groups)
    weights.writer.add_head_count(0)
    for layer in (f"blk.{number}." for number in range(layers)):
        random = weights.random(f"{layer}ssm")
        weights.norm(f"{layer}attn_norm.weight", EMBEDDING)
        weights.matrix(f"{layer}ssm_in.weight", inner + channels + heads, EMBEDDING)
        weights.exact(f"{layer}ssm_conv1d.weight", random.standard_normal((channels, convolution)) / 2)
        weights.exact(f"{layer}ssm_conv1d.bias", 0.1 * random.standard_normal(channels))
        weights.exact(f"{layer}ssm_dt.bias", random.uniform(-4, -2, heads))
        weights.exact(f"{layer}ssm_a", -random.uniform(1, 8, (heads, 1)))
        weights.exact(f"{layer}ssm_d", np.ones((heads, 1)))
        weights.norm(f"{layer}ssm_norm.weight", groups, inner // groups)
        weights.matrix(f"{layer}ssm_out.weight", EMBEDDING, inner)


def _qwen35(weights: Weights, layers: int = 4, interval: int = 4) -> None:
    state, groups, convolution, size = 32, 2, 4, EMBEDDING // 2
    heads = 2 * groups
    inner, channels = state * heads, 2 * state * groups + state * heads
    weights.model(layers, 2 * EMBEDDING)
    weights.heads(2, 1, size)
    _state_space(weights, convolution=convolution, inner=inner, state=state, heads=heads, groups=groups)
    weights.writer.add_rope_dimension_count(size // 4)
    weights.writer.add_rope_dimension_sections([2, 2, 0, 0])
    weights.writer.add_uint32("qwen35.full_attention_interval", interval)
    for number in range(layers):
        layer = f"blk.{number}."
        if (number + 1) % interval == 0:
            weights.attention(layer, 2, 1, size, gated=True)
            for name in ("attn_q_norm", "attn_k_norm"):
                weights.norm(f"{layer}{name}.weight", size)
        else:
            random = weights.random(f"{layer}ssm")
            weights.norm(f"{layer}attn_norm.weight", EMBEDDING)
            weights.matrix(f"{layer}attn_qkv.weight", channels, EMBEDDING)
            weights.matrix(f"{layer}attn_gate.weight", inner, EMBEDDING)
            weights.matrix(f"{layer}ssm_beta.weight", heads, EMBEDDING)
            weights.matrix(f"{layer}ssm_alpha.weight", heads, EMBEDDING)
            weights.exact(f"{layer}ssm_conv1d.weight", random.standard_normal((channels, convolution)) / 2)
            weights.exact(f"{layer}ssm_dt.bias", random.uniform(-4, -2, heads))
            weights.exact(f"{layer}ssm_a", -random.uniform(1, 8, heads))
            weights.norm(f"{layer}ssm_norm.weight", state)
            weights.matrix(f"{layer}ssm_out.weight", EMBEDDING, inner)
        weights.norm(f"{layer}post_attention_norm.weight", EMBEDDING)
        weights.feed_forward(layer, 2 * EMBEDDING)


def _state_space(weights: Weights, *, convolution: int, inner: int, state: int, heads: int, groups: int) -> None:
    weights.writer.add_ssm_conv_kernel(convolution)
    weights.writer.add_ssm_inner_size(inner)
    weights.writer.add_ssm_state_size(state)
    weights.writer.add_ssm_time_step_rank(heads)
    weights.writer.add_ssm_group_count(groups)


ARCHITECTURES: dict[str, tuple[str, Callable[[Weights], None]]] = {
    "attention": ("llama", _llama),
    "sliding window": ("gemma3", _gemma3),
    "recurrent": ("mamba2", _mamba2),
    "hybrid": ("qwen35", _qwen35),
}
