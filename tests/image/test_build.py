"""What the build of the image makes, and what it refuses."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local_cloud import image
from local_cloud.errors import ImageError
from local_cloud.image import Built
from tests import notice

pytestmark = pytest.mark.image


@pytest.fixture(scope="module")
def files(built: Built) -> Any:
    """The folder of the image's files."""
    with built.image.buildah.container(built.image.image_id) as (_, root):
        yield root


def test_the_last_line_of_the_log_is_the_result_and_the_digest_is_exported(built: Built) -> None:
    lines = [line for line in built.log.splitlines() if not line.startswith("[Container]")]
    assert json.loads(lines[-1]) == built.result
    assert built.exported == {"IMAGE_DIGEST": built.result["digest"]}
    assert built.result["digest"] == built.image.digest


def test_the_manifest_is_dockers_and_has_no_attachments(built: Built) -> None:
    manifest = json.loads(built.image.manifest)
    assert manifest["mediaType"] == "application/vnd.docker.distribution.manifest.v2+json"
    assert manifest["config"]["mediaType"] == "application/vnd.docker.container.image.v1+json"


def test_the_image_adds_at_most_120_mb_and_the_log_has_the_size_of_each_layer(built: Built, files: Path) -> None:
    added: Any = built.result["added_bytes"]
    sizes: Any = built.result["layer_bytes"]
    assert 0 < added <= 120_000_000
    assert sum(sizes) == built.result["size_bytes"]
    for number, size in enumerate(sizes, start=1):
        assert f"layer {number}: {size / 1e6:.1f} MB, " in built.log
    proof = json.loads((files / "opt/adapter/proof.json").read_text())
    assert 0 < sum(proof["added_bytes"].values()) <= 120_000_000


def test_every_cpu_backend_of_the_base_was_tried(built: Built, files: Path) -> None:
    proof = json.loads((files / "opt/adapter/proof.json").read_text())
    assert set(proof["backends"]) == {file.name for file in (files / "opt/llama.cpp/bin").glob("libggml-cpu*.so")}
    outcomes = {outcome.partition(",")[0] for outcome in proof["backends"].values()}
    assert "right" in outcomes
    assert outcomes <= {"right", "not for this machine"} | {one for one in outcomes if "never used unless" in one}
    assert f"llama-cpp-python {built.result['llama_cpp_python']}" in proof["backends"]["libggml-cpu-x64.so"]


def test_the_bill_of_materials_is_what_is_locked_with_the_licences_of_notice(
    built: Built, files: Path, repository_root: Path
) -> None:
    bom = json.loads((files / "opt/adapter/bom.cdx.json").read_text())
    locked = (repository_root / "adapter" / "requirements.lock").read_text().splitlines()
    pins = {canonicalize_name(one.name): str(one.specifier)[2:] for one in map(requirement, locked) if one}
    pins["llama-cpp-python"] = str(built.result["llama_cpp_python"])
    assert {canonicalize_name(one["name"]): one["version"] for one in bom["components"]} == pins
    named = {canonicalize_name(package): licence for package, licence in notice.licences(repository_root).items()}
    assert {canonicalize_name(one["name"]): licence(one) for one in bom["components"]} == named


def requirement(line: str) -> Requirement | None:
    """The pin in a line of a lock, for a Python older than 3.14."""
    return Requirement(line.removesuffix("\\")) if "==" in line else None


def licence(component: dict[str, Any]) -> str:
    """The licence that the bill of materials gives a component, as an SPDX expression."""
    (one,) = component["licenses"]
    told: str = one.get("expression") or one["license"].get("id") or one["license"]["name"]
    return notice.SPDX.get(told, told)


def test_nothing_of_the_base_is_changed(built: Built, files: Path) -> None:
    base = next(line.rpartition(" ")[2] for line in built.log.splitlines() if " is replaced by " in line)
    with built.image.buildah.container(base) as (_, original):
        changed = {path.split("/")[1] for path in differences(original, files)}
    assert changed == {"opt"}


def differences(one: Path, other: Path) -> list[str]:
    """Paths of the files that are in one of two roots alone, or differ in size, mode, owner or time."""

    def listed(root: Path) -> set[tuple[Any, ...]]:
        found = set()
        for folder, _, names in os.walk(root):
            for name in names:
                file = Path(folder, name)
                status = file.lstat()
                shown = "/" + str(file.relative_to(root))
                found.add((shown, status.st_size, status.st_mode, status.st_uid, int(status.st_mtime)))
        return found

    return sorted({entry[0] for entry in listed(one) ^ listed(other)})


def test_neither_index_nor_certificate_of_this_machine_is_in_the_image(
    built: Built, files: Path, repository_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a build that had both, and has to run its steps again
    source = tmp_path / "adapter"
    shutil.copytree(repository_root / "adapter", source)
    with (source / "requirements.lock").open("a") as lock:
        lock.write("# another\n")
    certificate = tmp_path / "ca.pem"
    certificate.write_bytes(Path(os.environ.get("PIP_CERT") or "/etc/ssl/certs/ca-certificates.crt").read_bytes())
    monkeypatch.setenv("PIP_CERT", str(certificate))
    monkeypatch.setenv("PIP_INDEX_URL", "https://nobody:a-secret-word@pypi.org/simple")
    # when
    again = image.build(source)
    # then its history does not tell, nor does any of its files
    assert "a-secret-word" not in json.dumps(again.image.buildah.inspect(again.image.image_id)) + again.log
    with again.image.buildah.container(again.image.image_id) as (_, root):
        installed = [file for file in (root / "opt/adapter").rglob("*") if file.is_file()]
        assert [file for file in installed if b"a-secret-word" in file.read_bytes()] == []
        assert not (root / "run/secrets").exists()


def test_a_binding_of_another_release_fails_the_build_with_the_one_to_use(
    repository_root: Path, tmp_path: Path
) -> None:
    # given a table that gives the base the release after its own
    source = tmp_path / "adapter"
    shutil.copytree(repository_root / "adapter", source)
    table = (source / "bases.toml").read_text()
    (source / "bases.toml").write_text(table.replace('llama_cpp_python = "0.3.35"', 'llama_cpp_python = "0.3.36"', 1))
    # when
    with pytest.raises(ImageError) as raised:
        image.build(source)
    # then
    sentence = str(raised.value)
    assert "proof failed: " in sentence
    # whose binding asks for a function that the base's llama.cpp does not have yet
    assert "undefined symbol: llama_adapter_lora_init_from_file_ptr" in sentence
    assert "The libraries fit llama-cpp-python 0.3.35: name that for the base in bases.toml" in sentence


def test_a_base_that_is_not_in_the_table_fails_the_build(tmp_path: Path) -> None:
    unknown = f"{image.PUBLISHED_CPU_BASE.partition('@')[0]}@sha256:{'a' * 64}"
    with pytest.raises(ImageError, match=r"bases\.toml does not know the base sha256:a+: add it with"):
        image.build(base=unknown)


def test_every_package_has_a_wheel_for_every_python_and_platform(repository_root: Path, tmp_path: Path) -> None:
    # given a copy, whose locks may be renewed
    (tmp_path / "adapter").mkdir()
    for name in ("Makefile", "adapter/requirements.txt", "adapter/build-requirements.txt"):
        shutil.copy(repository_root / name, tmp_path / name)
    tools = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["make", "-o", "install", "lock"],
        cwd=tmp_path,
        env={**os.environ, "PATH": tools},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--hash=sha256:" in (tmp_path / "adapter" / "requirements.lock").read_text()
