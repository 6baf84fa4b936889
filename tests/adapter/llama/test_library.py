"""Loading llama.cpp's libraries. A process loads them once, so each case that loads has a process of its own."""

import subprocess
import sys
from pathlib import Path

import llama_cpp
import pytest

from decision_adapter.errors import LibraryError
from decision_adapter.llama import library

BUNDLED = Path(llama_cpp.__file__).parent / "lib"


def test_the_bundled_libraries_bring_a_cpu(llama_library: library.Library) -> None:
    assert "CPU" in llama_library.backends
    assert llama_library.binding_version == llama_cpp.__version__
    assert "ggml" in llama_library.build


def test_a_folder_of_libraries_is_used_instead_of_the_bundled_ones(tmp_path: Path, repository_root: Path) -> None:
    # given the libraries in another folder, where the loader does not look
    for file in BUNDLED.iterdir():
        (tmp_path / file.name).symlink_to(file.resolve())
    program = (
        "from pathlib import Path; from decision_adapter.llama import library;"
        f"loaded = library.load(Path({str(tmp_path)!r}));"
        "import llama_cpp; print(loaded.backends, llama_cpp.llama_cpp._lib._name)"
    )
    # when a fresh process loads them
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=repository_root / "adapter", capture_output=True, text=True, check=True
    ).stdout
    # then
    assert output.strip() == f"('CPU',) {tmp_path}/libllama.so"


def test_a_folder_without_libraries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"holds no libllama\.so; SEMIF_LLAMA_CPP_LIB_DIR names"):
        library.load(tmp_path)


def test_a_library_that_is_none_is_refused(tmp_path: Path) -> None:
    for name in ("libllama.so", "libggml-base.so", "libggml.so"):
        (tmp_path / name).write_text("not a library")
    with pytest.raises(LibraryError, match=r"libggml-base\.so cannot be loaded: "):
        library.load(tmp_path)
