"""Loading llama.cpp's shared libraries and finding out what they can compute on."""

import ctypes
import importlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decision_adapter.errors import LibraryError
from decision_adapter.llama import backends, compatibility

log = logging.getLogger(__name__)

GPU_DEVICES = (1, 2)
"""``ggml_backend_dev_type``: GPU with its own memory, GPU sharing the host's."""

GGML_LOG_LEVELS = {3: logging.WARNING, 4: logging.ERROR}
"""``ggml_log_level`` of the messages worth passing on; the rest is llama.cpp's own progress."""


@dataclass(frozen=True)
class Library:
    """The llama.cpp of this process."""

    build: str
    binding_version: str
    backends: tuple[str, ...]
    """Names of the registered backends, such as CPU and CUDA."""
    gpus: tuple[str, ...]
    """Descriptions of the GPUs that layers can be put on."""


def load(directory: Path | None, allow_amx: bool = False) -> Library:
    """Load the libraries in ``directory``, or those bundled with the binding when it is None. Once a process.

    Raises:
        LibraryError: they cannot be loaded, do not fit the binding, or bring no backend to compute with.
    """
    place = str(directory or "llama-cpp-python")
    if directory is not None:
        _preload(directory)
        os.environ["LLAMA_CPP_LIB_PATH"] = str(directory)  # read by the binding when it is imported
    try:
        binding = importlib.import_module("llama_cpp")
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        raise LibraryError(f"llama.cpp's libraries from {place} cannot be loaded: {error}") from error
    binding.llama_log_set(_log_callback(binding), ctypes.c_void_p(0))
    libraries = binding.llama_cpp._lib  # what it loads with libllama.so resolves through it too
    compatibility.check(binding, libraries, place)
    if directory is not None:
        # A build with GGML_BACKEND_DL has no backend, not even the CPU's, until it is told which.
        backends.load(libraries, directory, allow_amx)
    binding.llama_backend_init()
    devices = _devices(libraries)
    library = Library(
        build=f"llama.cpp {binding.llama_version().decode()}, ggml {_text(libraries, 'ggml_version')} "
        f"({_text(libraries, 'ggml_commit')})",
        binding_version=binding.__version__,
        backends=_backends(libraries),
        gpus=tuple(name for name, kind in devices if kind in GPU_DEVICES),
    )
    if not devices:
        raise LibraryError(f"llama.cpp's libraries from {place} bring no backend; is a libggml-cpu*.so there?")
    return library


def _preload(directory: Path) -> None:
    """Load ggml by path, so that libllama.so finds it where the loader would not look."""
    if not (directory / "libllama.so").is_file():
        raise LibraryError(f"{directory} holds no libllama.so; SEMIF_LLAMA_CPP_LIB_DIR names llama.cpp's libraries")
    for name in ("libggml-base.so", "libggml.so"):
        try:
            ctypes.CDLL(str(directory / name), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise LibraryError(f"{directory / name} cannot be loaded: {error}") from error


def _backends(libraries: Any) -> tuple[str, ...]:
    libraries.ggml_backend_reg_count.restype = ctypes.c_size_t
    get = _function(libraries, "ggml_backend_reg_get", ctypes.c_void_p, ctypes.c_size_t)
    name = _function(libraries, "ggml_backend_reg_name", ctypes.c_char_p, ctypes.c_void_p)
    return tuple(name(get(index)).decode() for index in range(libraries.ggml_backend_reg_count()))


def _devices(libraries: Any) -> list[tuple[str, int]]:
    """Description and ``ggml_backend_dev_type`` of each device."""
    libraries.ggml_backend_dev_count.restype = ctypes.c_size_t
    get = _function(libraries, "ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    describe = _function(libraries, "ggml_backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)
    kind = _function(libraries, "ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)
    devices = [get(index) for index in range(libraries.ggml_backend_dev_count())]
    return [(describe(device).decode(), kind(device)) for device in devices]


def _text(libraries: Any, name: str) -> str:
    """What a function without arguments says, "unknown" when this build does not have it."""
    if not hasattr(libraries, name):
        return "unknown"
    text: bytes = _function(libraries, name, ctypes.c_char_p)()
    return text.decode()


def _function(libraries: Any, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(libraries, name)
    function.restype, function.argtypes = result, arguments
    return function


_callbacks: list[object] = []
"""Keeps the log callback alive as long as the process: llama.cpp holds a bare pointer to it."""


def _log_callback(binding: Any) -> Any:
    def forward(level: int, text: bytes, _data: object) -> None:
        if level in GGML_LOG_LEVELS:
            log.log(GGML_LOG_LEVELS[level], "llama.cpp: %s", text.decode("utf-8", "replace").strip())

    callback = binding.llama_log_callback(forward)
    _callbacks.append(callback)
    return callback
