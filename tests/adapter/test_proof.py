"""The proof that an image's build ends with, on the libraries of the installed binding and on some that are wrong."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from proof import prove, reference, tiny_gguf
from tests.other_llama import WITH_ONE_FIELD_MORE, compile_library

Decode = Callable[[Path], subprocess.CompletedProcess[str]]
BUNDLED = Path(llama_cpp.__file__).parent / "lib"
# Made with the same arithmetic everywhere: another sum means that every image is proved with another model.
TINY_SHA256 = "7e06272827c882107184006db7288942d3d1362f4549fd0e2b2b23de76d8c971"


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """A folder with the installed libraries."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    for file in BUNDLED.iterdir():
        (folder / file.name).symlink_to(file.resolve())
    return folder


@pytest.fixture
def decode(repository_root: Path, tmp_path: Path) -> Decode:
    gguf = tiny_gguf.write(tmp_path / "tiny.gguf")

    def run(folder: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "proof.decode", str(folder), str(gguf)]
        return subprocess.run(command, cwd=repository_root / "adapter", capture_output=True, text=True, check=False)

    return run


def test_the_model_is_the_same_everywhere(tmp_path: Path) -> None:
    assert hashlib.sha256(tiny_gguf.write(tmp_path / "tiny.gguf").read_bytes()).hexdigest() == TINY_SHA256


def test_llama_cpp_computes_what_plain_arithmetic_does(libraries: Path, decode: Decode) -> None:
    # given
    expected = reference.logits(tiny_gguf.PROMPT)
    # when
    done = decode(libraries)
    # then a long decode and a short one are as near as rounding to 8 bits lets them be
    assert done.returncode == 0, done.stderr
    long, short = json.loads(done.stdout)["logits"]
    assert np.abs(np.array(long) - expected[-1]).max() < prove.TOLERANCE
    assert np.abs(np.array(short) - expected[0]).max() < prove.TOLERANCE
    # which is far from what any other logits would be
    assert expected[-1].std() > 5 * prove.TOLERANCE
    assert np.abs(expected[-1] - expected[0]).max() > 5 * prove.TOLERANCE


def test_libraries_of_another_release_are_refused_with_the_release_that_fits(libraries: Path, decode: Decode) -> None:
    # given a libllama.so with the parameters of another release, and the rest of this one's
    (libraries / "libllama.so").rename(libraries / "libthis.so")
    link = ("-Wl,--no-as-needed", f"-L{libraries}", "-lthis", f"-Wl,-rpath,{libraries}")
    compile_library(libraries / "libllama.so", WITH_ONE_FIELD_MORE, *link)
    # when
    done = decode(libraries)
    # then
    assert done.returncode == 3
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith(f"llama-cpp-python {llama_cpp.__version__} was not made for the llama.cpp ")
    assert sentence.endswith("The libraries fit llama-cpp-python 0.3.36: name that for the base in bases.toml")
    with pytest.raises(prove.ProofError, match=r"haswell\.so: llama-cpp-python .* fit llama-cpp-python 0\.3\.36"):
        prove.verdict("libggml-cpu-haswell.so", done, np.zeros(1))


def test_libraries_that_the_binding_cannot_even_be_imported_with_are_named_too(libraries: Path, decode: Decode) -> None:
    # given a libllama.so that lacks most functions, but has the parameters of another release
    context = "struct c { char bytes[160]; }; struct c llama_context_default_params(void) { struct c d; "
    context += "for (int i = 0; i < 160; i++) d.bytes[i] = i; return d; }"
    (libraries / "libllama.so").unlink()
    compile_library(libraries / "libllama.so", WITH_ONE_FIELD_MORE + context)
    # when
    done = decode(libraries)
    # then
    assert done.returncode == 3
    sentence = done.stderr.splitlines()[-1]
    assert "undefined symbol: " in sentence
    assert sentence.endswith("The libraries fit llama-cpp-python 0.3.36: name that for the base in bases.toml")


def finished(code: int, logits: list[float] | None = None) -> subprocess.CompletedProcess[str]:
    said = json.dumps({"logits": logits, "build": "llama.cpp b1", "binding": "0.0.1"})
    return subprocess.CompletedProcess([], code, said, "the first line\nthe reason\n")


def test_a_backend_that_computes_wrongly_or_crashes_fails_the_build() -> None:
    expected = np.array([1.0, -2.0])
    assert prove.verdict("libggml-cpu-x64.so", finished(0, [1.1, -2.0]), expected) == (
        "right, off by 0.100 at most; llama.cpp b1, llama-cpp-python 0.0.1"
    )
    for logits in ([1.5, -2.0], [float("nan"), -2.0]):
        with pytest.raises(prove.ProofError, match=r"x64\.so computes wrongly: a logit is off by (0\.5|nan), 0\.4"):
            prove.verdict("libggml-cpu-x64.so", finished(0, logits), expected)
    with pytest.raises(prove.ProofError, match=r"x64\.so: the reason \(signal 11\)"):
        prove.verdict("libggml-cpu-x64.so", finished(-11), expected)


def test_a_backend_with_amx_may_be_broken_as_it_is_not_used() -> None:
    name, expected = "libggml-cpu-sapphirerapids.so", np.array([1.0])
    assert prove.verdict(name, finished(0, [1.0]), expected).startswith("right")
    assert prove.verdict(name, finished(-4), expected) == "broken (signal 4); never used unless SEMIF_ALLOW_AMX=1"
    assert prove.verdict(name, finished(0, [3.0]), expected) == "wrong, off by 2; never used unless SEMIF_ALLOW_AMX=1"


def test_libraries_without_a_backend_that_runs_here_fail_the_build(libraries: Path) -> None:
    # given one that is none to load, and one that is for another machine
    compile_library(
        libraries / "libggml-cpu-zen9.so", "void *ggml_backend_init; int ggml_backend_score(void) { return 0; }"
    )
    with pytest.raises(prove.ProofError, match=r"no CPU backend that this machine can run: .*zen9\.so': 'not for this"):
        prove.decode_with_each(libraries)


def test_a_cuda_backend_may_wait_for_its_driver_and_for_nothing_else(tmp_path: Path) -> None:
    # given a backend that needs the driver's library and, later, another one
    backend = tmp_path / "libggml-cuda.so"
    driver = compile_library(tmp_path / "libcuda.so.1", "void driver(void) {}", "-Wl,-soname,libcuda.so.1")
    other = compile_library(tmp_path / "libcublas.so.13", "void product(void) {}", "-Wl,-soname,libcublas.so.13")
    source = "void driver(void); void product(void); void *ggml_backend_init(void) { driver(); product(); return 0; }"
    compile_library(backend, source, str(driver), str(other), f"-Wl,-rpath,{tmp_path}")
    driver.unlink()
    # then
    assert prove.check_cuda(tmp_path) == ["libcuda.so.1"]
    other.unlink()
    with pytest.raises(prove.ProofError, match=r"needs libcublas\.so\.13, which neither the image nor"):
        prove.check_cuda(tmp_path)
    backend.unlink()
    with pytest.raises(prove.ProofError, match=r"has no libggml-cuda\.so; bases\.toml calls the base one for CUDA"):
        prove.check_cuda(tmp_path)


def test_an_image_that_adds_too_much_fails_the_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    with (tmp_path / "venv" / "lib" / "big").open("wb") as file:
        file.truncate(119_000_000)
    assert prove.added_bytes(tmp_path) == {"venv": 119_000_000}
    assert "proof: added to the base: 119.0 MB of 120 MB allowed" in capsys.readouterr().out
    (tmp_path / "serve").write_bytes(bytes(1_000_001))
    with pytest.raises(prove.ProofError, match="the image adds 120000001 bytes to its base, 120000000 are allowed"):
        prove.added_bytes(tmp_path)
