"""A binding of another llama.cpp is noticed: its structs are compared with what the library fills them with."""

import ctypes
from pathlib import Path

import llama_cpp
import pytest

from decision_adapter.errors import LibraryError
from decision_adapter.llama import compatibility, library
from tests.other_llama import WITH_ONE_FIELD_MORE, compile_library


def compiled(folder: Path, source: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(compile_library(folder / "libother.so", source)))


def test_the_installed_pair_fits(llama_library: library.Library) -> None:
    compatibility.check(llama_cpp, llama_cpp.llama_cpp._lib, "llama-cpp-python")


def test_every_field_of_the_installed_binding_is_looked_at() -> None:
    known = {*compatibility.MODEL_DEFAULTS, *compatibility.CONTEXT_DEFAULTS, "n_threads", "n_threads_batch"}
    fields = [*llama_cpp.llama_model_params._fields_, *llama_cpp.llama_context_params._fields_]
    assert {field[0] for field in fields} <= known


def test_an_inserted_field_is_noticed(tmp_path: Path) -> None:
    other = compiled(tmp_path, WITH_ONE_FIELD_MORE)
    problems = compatibility.mismatches(
        other.llama_model_default_params, llama_cpp.llama_model_params, compatibility.MODEL_DEFAULTS
    )
    assert problems[0] == "llama_model_params.main_gpu reads 1 where llama.cpp sets 0"
    assert problems[-1] == "llama_model_params has 72 bytes, llama.cpp writes 80"


def test_a_field_appended_is_noticed_by_what_is_written(tmp_path: Path) -> None:
    # given a library that knows one field more, after all that the binding knows
    class Known(ctypes.Structure):
        _fields_ = (("first", ctypes.c_int), ("second", ctypes.c_int), ("third", ctypes.c_void_p))

    source = (
        "struct p { int first, second; void *third, *fourth; }; struct p f(void) { struct p d = {1, 2}; return d; }"
    )
    problems = compatibility.mismatches(compiled(tmp_path, source).f, Known, {"first": 1, "second": 2})
    assert problems == ["Known has 16 bytes, llama.cpp writes 24"]


def test_the_refusal_names_both_versions_and_what_to_do(tmp_path: Path) -> None:
    context = (
        "struct c { char bytes[160]; }; struct c llama_context_default_params(void) { struct c d = {0}; return d; }"
    )
    other = compiled(tmp_path, WITH_ONE_FIELD_MORE + context)
    with pytest.raises(LibraryError) as raised:
        compatibility.check(llama_cpp, other, "/opt/llama.cpp/bin")
    sentence = str(raised.value)
    assert sentence.startswith(f"llama-cpp-python {llama_cpp.__version__} was not made for the llama.cpp ")
    assert "in /opt/llama.cpp/bin: llama_model_params.main_gpu reads 1" in sentence
    assert "Install the llama-cpp-python release whose llama.cpp is that one" in sentence
