"""Decodes the tiny model with the libraries of a folder, in a process of its own: a process loads them once.

decode.py FOLDER GGUF → one JSON object; exit code 3 and one sentence when the libraries do not fit the binding
"""

import ctypes
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from decision_adapter.errors import LibraryError, ModelError
from decision_adapter.llama import compatibility
from decision_adapter.llama import library as llama_library
from proof import tiny_gguf as tiny

BASES = Path(__file__).parents[1] / "bases.toml"
DOES_NOT_FIT = 3
LENGTHS = (len(tiny.PROMPT), 1)
"""A long decode and the shortest: they take different kernels."""


def decode(folder: Path, gguf: Path) -> dict[str, Any]:
    """Logits after each of ``LENGTHS`` tokens, and what computed them.

    Raises:
        LibraryError: the libraries are not of the binding's version, or cannot be loaded.
        ModelError: they cannot load the model.
    """
    loaded = llama_library.load(folder, allow_amx=True)  # what is in the folder is what is to be tried
    import llama_cpp  # noqa: PLC0415  # only now is it decided which libraries it loads

    from decision_adapter.llama.context import Context  # noqa: PLC0415

    parameters = llama_cpp.llama_model_default_params()
    parameters.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(gguf).encode(), parameters)
    if not model:
        raise ModelError(f"llama.cpp cannot load {gguf}")
    context = Context(model, len(tiny.PROMPT), 2, False, tiny.VOCABULARY)
    logits = []
    for length in LENGTHS:
        context.clear()
        logits.append(context.decode_last(np.array(tiny.PROMPT[:length], dtype=np.int32), 0).tolist())
    return {"build": loaded.build, "binding": loaded.binding_version, "logits": logits}


def fitting(folder: Path, bases: Path) -> str:
    """Which release of the binding the libraries in ``folder`` are of, by the sizes of their structs: a sentence.

    Asks the libraries alone: the installed binding may not even be importable with them.
    """
    try:
        for name in ("libggml-base.so", "libggml.so", "libllama.so"):
            library = ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return "The libraries cannot be loaded at all"
    functions = (library.llama_model_default_params, library.llama_context_default_params)
    written = [compatibility.written_bytes(function) for function in functions]
    filled = [count for count in written if count is not None]
    if len(filled) < len(written):
        return f"Which one they fit cannot be told on this machine; try the others in {bases.name}"
    known = tomllib.loads(bases.read_text(encoding="utf-8"))["bindings"]
    versions = [
        version
        for version, binding in known.items()
        if all(map(compatibility.is_size, binding["struct_bytes"], filled))
    ]
    if versions:
        return f"The libraries fit llama-cpp-python {' or '.join(versions)}: name that for the base in {bases.name}"
    return f"No llama-cpp-python in {bases.name} has structs of {filled} bytes or a few more; add the release that has"


if __name__ == "__main__":
    try:
        print(json.dumps(decode(Path(sys.argv[1]), Path(sys.argv[2]))))
    except LibraryError as error:
        print(f"{error}. {fitting(Path(sys.argv[1]), BASES)}", file=sys.stderr)
        sys.exit(DOES_NOT_FIT)
