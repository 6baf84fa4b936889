"""The image as SageMaker runs it: its own root, process 1, nobody's user, a read-only model."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_cloud.built_images import BuiltImage
from tests.other_llama import WITH_ONE_FIELD_MORE, compile_library

pytestmark = pytest.mark.image

CORPUS = sorted((Path(__file__).parents[1] / "requests" / "valid").glob("*.json"))
START_IMAGE = Callable[..., Any]


def without_times(answer: Any) -> Any:
    """An answer without what a clock says; what is left are the model's numbers, bit by bit."""
    if isinstance(answer, dict):
        return {name: without_times(value) for name, value in answer.items() if not name.endswith("_seconds")}
    return [without_times(item) for item in answer] if isinstance(answer, list) else answer


@pytest.fixture(scope="module")
def outside(start_container: Callable[..., Any], model: Path, libraries: Path) -> Any:
    """The adapter as a process of this machine, on the libraries that the image has."""
    return start_container(model, SEMIF_LLAMA_CPP_LIB_DIR=str(libraries)).wait_until_ready()


def test_the_container_is_healthy(container: Any) -> None:
    assert container.request("GET", "/ping")[0] == 200


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CORPUS])
def test_the_image_gives_the_bits_of_the_adapter_outside(container: Any, outside: Any, path: Path) -> None:
    body = json.loads(path.read_text("utf-8"))["request"]
    (status, inside), (_, same) = container.score(body), outside.score(body)
    assert status == 200, inside
    assert without_times(inside) == without_times(same)


def test_it_runs_as_nobody_in_particular_and_can_write_no_model(container: Any, built: Any) -> None:
    config = built.image.buildah.inspect(built.image.image_id)["Docker"]["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/opt/adapter/serve"]
    serving = processes_of(container.process.pid, "/opt/adapter/serve")
    assert len(serving) == 2  # gunicorn's main process and its worker
    for process in serving:
        status = (process / "status").read_text()
        assert re.search(r"^Uid:\t65532\t65532\t65532\t65532$", status, re.MULTILINE)
        assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
        mounts = [line.split() for line in (process / "mounts").read_text().splitlines()]
        (model,) = [mount for mount in mounts if mount[1] == "/opt/ml/model"]
        assert "ro" in model[3].split(",")
    # process 1 of its own namespace, as it is in a container
    assert re.search(r"^NSpid:\t\d+\t1$", (serving[0] / "status").read_text(), re.MULTILINE)


def processes_of(session: int, word: str) -> list[Path]:
    """The processes of a session that have a word of their command line, oldest first."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
            of = int((process / "stat").read_text().rpartition(")")[2].split()[3])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if of == session and word in words[1:3]:
            found.append(process)
    return sorted(found, key=lambda process: int(process.name))


def test_sigterm_ends_it_cleanly_and_nothing_is_left(start_image: START_IMAGE, model: Path, built: Any) -> None:
    running = start_image(model).wait_until_ready()
    assert running.stop() == 0
    assert processes_of(running.process.pid, "/opt/adapter/serve") == []
    left = json.loads(built.image.buildah.run("containers", "--json")) or ()  # null when there are none
    owners = [one["containername"] for one in left]
    assert not [name for name in owners if name.startswith(f"of-{running.process.pid}-")]
    assert "SIGKILL" not in running.log()


def reason_to_end(running: Any) -> str:
    """The sentence a container ends with; its exit code says that starting again would not help."""
    assert running.process.wait(timeout=120) == 3, running.log()
    lines = [json.loads(line) for line in running.log().splitlines()]
    (sentence,) = [line["message"] for line in lines if line["level"] == "critical"]
    return str(sentence)


def test_a_second_gguf_is_refused(start_image: START_IMAGE, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).touch()
    assert reason_to_end(start_image(tmp_path)) == (
        "cannot start: /opt/ml/model holds 2 GGUF files, exactly one is needed: a.gguf, b.gguf"
    )


def test_a_swapped_library_is_refused(
    start_image: START_IMAGE, derive: Callable[..., BuiltImage], model: Path, libraries: Path, tmp_path: Path
) -> None:
    # given a libllama.so whose parameters are of another release, in front of the right one
    real = libraries / "libllama.so.0"
    link = ("-Wl,--no-as-needed", str(real), "-Wl,--allow-shlib-undefined")
    other = compile_library(tmp_path / "libllama.so", WITH_ONE_FIELD_MORE, *link)
    # when
    running = start_image(model, derive(other, "/opt/llama.cpp/bin/libllama.so"))
    # then
    sentence = reason_to_end(running)
    assert sentence.startswith("cannot start: llama-cpp-python 0.3.35 was not made for the llama.cpp ")
    assert "llama_model_params has 72 bytes, llama.cpp writes 80" in sentence


AMX = """
#include <stdlib.h>
int ggml_backend_score(void) { return 100000; }
void *ggml_backend_init(void) { abort(); }
"""


def test_the_backend_with_amx_is_used_only_when_asked_for(
    start_image: START_IMAGE, derive: Callable[..., BuiltImage], model: Path, tmp_path: Path
) -> None:
    # given one that this machine would like best and that ends the process
    backend = compile_library(tmp_path / "libggml-cpu-sapphirerapids.so", AMX)
    crashing = derive(backend, "/opt/llama.cpp/bin/libggml-cpu-sapphirerapids.so")
    # then it is left out
    running = start_image(model, crashing).wait_until_ready()
    assert "AMX is not used: libggml-cpu-sapphirerapids.so left out" in running.log()
    assert running.stop() == 0
    # unless it is asked for
    asked = start_image(model, crashing, SEMIF_ALLOW_AMX="1")
    assert asked.process.wait(timeout=120) != 0
    assert "AMX is not used" not in asked.log()


def test_serve_takes_no_other_argument(built: Any, model: Path) -> None:
    program = built.image.program({"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, {}, model)
    command = [*program.command[:-1], "train"]
    done = subprocess.run(command, cwd=program.directory, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "the only argument is 'serve', got ['train']" in done.stdout + done.stderr
