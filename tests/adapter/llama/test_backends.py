"""Which dynamic backends are chosen, on libraries compiled here that do nothing but say how well they suit."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from decision_adapter.llama.backends import choose, score


@pytest.fixture
def compile_backend(tmp_path: Path) -> Callable[..., Path]:
    """Make ``libggml-<name>.so``; without ``scored`` it does not say how well it suits."""

    def make(name: str, scored: int | None = None, source: str = "void *ggml_backend_init(void) { return 0; }") -> Path:
        if scored is not None:
            source += f"int ggml_backend_score(void) {{ return {scored}; }}"
        path = tmp_path / f"libggml-{name}.so"
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
        subprocess.run(command, input=source, text=True, check=True)
        return path

    return make


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_the_best_cpu_variant_without_amx_is_chosen(compile_backend: Callable[..., Path], tmp_path: Path) -> None:
    compile_backend("cpu-haswell", 64)
    compile_backend("cpu-icelake", 512)
    compile_backend("cpu-sapphirerapids", 2048)
    compile_backend("cpu-zen9", 0)
    assert names(choose(tmp_path, allow_amx=False)) == ["libggml-cpu-icelake.so"]


def test_amx_is_chosen_where_it_is_allowed_and_best(compile_backend: Callable[..., Path], tmp_path: Path) -> None:
    compile_backend("cpu-icelake", 512)
    compile_backend("cpu-sapphirerapids", 2048)
    assert names(choose(tmp_path, allow_amx=True)) == ["libggml-cpu-sapphirerapids.so"]


def test_amx_left_out_is_logged_with_its_setting(
    compile_backend: Callable[..., Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compile_backend("cpu-sapphirerapids", 2048)
    with caplog.at_level("INFO"):
        assert choose(tmp_path, allow_amx=False) == []
    assert "libggml-cpu-sapphirerapids.so left out; SEMIF_ALLOW_AMX=1 allows it" in caplog.text


def test_every_gpu_backend_that_loads_is_chosen_too(compile_backend: Callable[..., Path], tmp_path: Path) -> None:
    # given one for a GPU, and one whose driver is missing
    compile_backend("cpu-x64", 1)
    compile_backend("cuda")
    source = "void driver(void); void *ggml_backend_init(void) { driver(); return 0; }"
    compile_backend("vulkan", source=source + "__attribute__((constructor)) void now(void) { driver(); }")
    assert names(choose(tmp_path, allow_amx=False)) == ["libggml-cuda.so", "libggml-cpu-x64.so"]


def test_a_library_with_its_backends_built_in_is_none_to_load(compile_backend: Callable[..., Path]) -> None:
    assert score(compile_backend("cpu", source="int nothing;")) == 0
