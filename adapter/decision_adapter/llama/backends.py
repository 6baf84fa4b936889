"""Choosing which of llama.cpp's dynamic backends to load."""

import ctypes
import logging
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

AMX_VARIANTS = ("sapphirerapids", "graniterapids", "diamondrapids")
"""CPU variants, by the name of the microarchitecture, whose matrix products go through AMX tiles.

Built by gcc before 13 the first of them crashes: https://github.com/ggml-org/llama.cpp/issues/20824
"""


def load(libraries: Any, directory: Path, allow_amx: bool) -> None:
    """Register the backends in ``directory``: every GPU's that loads, and the best of the CPU's variants.

    llama.cpp's own ``ggml_backend_load_all_from_path`` would do the same without sparing AMX. A build without dynamic
    backends has them built in, and nothing here to load.
    """
    load_backend = libraries.ggml_backend_load
    load_backend.restype, load_backend.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    for path in choose(directory, allow_amx):
        if not load_backend(str(path).encode()):
            log.warning("llama.cpp cannot use the backend %s; its own message is in the line above", path)


def choose(directory: Path, allow_amx: bool) -> list[Path]:
    """The backends in ``directory`` to load: all that are not the CPU's, and one that is."""
    cpu = [path for path in sorted(directory.glob("libggml-cpu*.so")) if allow_amx or not _has_amx(path)]
    skipped = [path.name for path in directory.glob("libggml-cpu*.so") if path not in cpu]
    if skipped:
        log.info("AMX is not used: %s left out; SEMIF_ALLOW_AMX=1 allows it", ", ".join(skipped))
    others = [path for path in sorted(directory.glob("libggml-*.so")) if not path.name.startswith("libggml-cpu")]
    scores = {path: score(path) for path in cpu}
    best = max(scores, key=lambda path: scores[path], default=None)
    chosen = [path for path in others if score(path) > 0]
    return chosen + ([best] if best is not None and scores[best] > 0 else [])


def score(path: Path) -> int:
    """How well the backend in ``path`` suits this machine by its own account: 0 not at all, more is better.

    A backend without an account of its own gets 1. A library that cannot be loaded (a GPU's, where there is no driver)
    or is no dynamic backend gets 0.
    """
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        log.info("backend left out: %s", error)
        return 0
    if not hasattr(library, "ggml_backend_init"):
        return 0
    return int(library.ggml_backend_score()) if hasattr(library, "ggml_backend_score") else 1


def _has_amx(path: Path) -> bool:
    return path.name.removeprefix("libggml-cpu-").removesuffix(".so") in AMX_VARIANTS
