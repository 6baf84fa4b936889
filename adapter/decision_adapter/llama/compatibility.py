"""Whether the installed binding was made for the loaded library.

The binding repeats llama.cpp's structs by hand. When a release of llama.cpp inserts a field, a binding of another
release reads every later one shifted, silently, and writing one can crash. But what llama.cpp's functions for default
parameters return is known, field by field, so a shift shows before anything is decided by it.
"""

import ctypes
import platform
from collections.abc import Mapping
from typing import Any

from decision_adapter.errors import LibraryError

ROOM_BYTES = 1024
"""More than any version of the structs, so that a bigger one overruns nothing."""

MODEL_DEFAULTS: Mapping[str, float] = {
    **dict.fromkeys(("devices", "tensor_buft_overrides", "main_gpu", "tensor_split", "progress_callback"), 0),
    **dict.fromkeys(("progress_callback_user_data", "kv_overrides", "vocab_only", "check_tensors", "no_host"), 0),
    **dict.fromkeys(("no_alloc", "load_mtp"), 0),
    **dict.fromkeys(("split_mode", "lazy_mode", "use_extra_bufts"), 1),
    **dict.fromkeys(("n_gpu_layers", "load_mode"), -1),
}
CONTEXT_DEFAULTS: Mapping[str, float] = {
    **dict.fromkeys(("n_rs_seq", "n_outputs_max", "ctx_type", "rope_freq_base", "rope_freq_scale", "yarn_orig_ctx"), 0),
    **dict.fromkeys(("cb_eval", "cb_eval_user_data", "abort_callback", "abort_callback_data", "embeddings"), 0),
    **dict.fromkeys(("kv_unified", "samplers", "n_samplers", "ctx_other"), 0),
    **dict.fromkeys(("n_seq_max", "n_outputs_max_per_seq", "type_k", "type_v", "offload_kqv", "no_perf"), 1),
    **dict.fromkeys(("op_offload", "swa_full"), 1),
    **dict.fromkeys(("rope_scaling_type", "pooling_type", "attention_type", "flash_attn_type", "defrag_thold"), -1),
    **dict.fromkeys(("yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"), -1),
    **{"n_ctx": 512, "n_batch": 2048, "n_ubatch": 512},
}
"""What llama.cpp sets by default, by field. A field that a binding does not have is not looked at, nor is one that is
not here (n_threads depends on the machine)."""


def check(binding: Any, libraries: Any, place: str) -> None:
    """Compare the structs of ``binding`` with what ``libraries`` fill them with.

    Raises:
        LibraryError: they were made for different versions; names both and what to do.
    """
    problems = [
        *mismatches(libraries.llama_model_default_params, binding.llama_model_params, MODEL_DEFAULTS),
        *mismatches(libraries.llama_context_default_params, binding.llama_context_params, CONTEXT_DEFAULTS),
    ]
    if problems:
        version = binding.llama_version().decode() if hasattr(binding, "llama_version") else "unknown"
        raise LibraryError(
            f"llama-cpp-python {binding.__version__} was not made for the llama.cpp {version} in {place}: "
            f"{'; '.join(problems[:3])}. Install the llama-cpp-python release whose llama.cpp is that one (an image's "
            "is in adapter/bases.toml), or unset SEMIF_LLAMA_CPP_LIB_DIR to use the libraries it brings"
        )


def mismatches(function: Any, struct: Any, defaults: Mapping[str, float]) -> list[str]:
    """What is wrong with ``struct`` as the result type of the native ``function``, one sentence each."""
    result = _call_with_room(function)
    values = struct.from_buffer_copy(result)
    problems = []
    for name, _ in struct._fields_:
        value = _number(values, struct, name, result)
        if name in defaults and value != defaults[name]:
            problems.append(f"{struct.__name__}.{name} reads {value:g} where llama.cpp sets {defaults[name]:g}")
    written, size = written_bytes(function), ctypes.sizeof(struct)
    if written is not None and not is_size(size, written):
        problems.append(f"{struct.__name__} has {size} bytes, llama.cpp writes {written}")
    return problems


def is_size(size: int, written: int) -> bool:
    """Whether a struct of ``size`` bytes can be the one of which ``written`` bytes were filled.

    The last field can be followed by padding up to the size of a pointer, which is not written.
    """
    return size - ctypes.sizeof(ctypes.c_void_p) < written <= size


def _call_with_room(function: Any) -> bytes:
    """What ``function`` returns, in a struct with room for more."""

    class Room(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint8 * ROOM_BYTES)]

    return bytes(_own(function, Room, [])().bytes)


def written_bytes(function: Any) -> int | None:
    """How far into its result ``function`` writes; None where that cannot be found out.

    On x86-64 a caller passes the address of a big result as a hidden first argument, so the result can be a buffer of
    our own, filled with what will not be written: twice, since a byte can happen to be written as it was.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    ends = []
    for filler in (0xA5, 0x5A):
        room = (ctypes.c_uint8 * ROOM_BYTES)(*[filler] * ROOM_BYTES)
        _own(function, ctypes.c_void_p, [ctypes.c_void_p])(ctypes.addressof(room))
        ends.append(max((index + 1 for index, byte in enumerate(room) if byte != filler), default=0))
    return max(ends)


def _own(function: Any, result: Any, arguments: list[Any]) -> Any:
    """The same native function with another signature, leaving the one the binding calls as it is."""
    return ctypes.cast(function, ctypes.CFUNCTYPE(result, *arguments))


def _number(values: Any, struct: Any, name: str, result: bytes) -> float:
    """Field ``name`` as a number; a pointer as its address."""
    value = getattr(values, name)
    if isinstance(value, int | float):
        return value
    offset = getattr(struct, name).offset
    return int.from_bytes(result[offset : offset + ctypes.sizeof(ctypes.c_void_p)], "little")
