"""Images by digest and the model by its hash, where the settings say they are."""

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from decision_constructs.pinned_image import PinnedImage
from preflight import sources
from preflight.line import Line
from tests.preflight.conftest import REVISION, SHA256, StubbedSession, load

CPU = '[decision]\ninstance_type = "ml.c6i.large"\n'
Server = tuple[str, dict[str, tuple[int, Mapping[str, str], bytes]]]


def model_line(aws: StubbedSession, folder: Path, model: str = "") -> Line:
    chosen = load(folder, CPU, model=model)
    return sources.model_line(chosen.model, chosen.region, aws)


@pytest.fixture
def hub(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A Hub with one file, which redirects to its storage."""
    url, answers = server
    monkeypatch.setenv("HF_ENDPOINT", url)
    linked = {"X-Linked-ETag": f'"{SHA256}"', "X-Linked-Size": "1234", "Location": f"{url}/storage"}
    answers[f"/owner/name/resolve/{REVISION}/tiny.gguf"] = (302, linked, b"")
    return server


def test_the_hub_is_asked_for_the_hash_and_the_file_is_not_fetched(
    hub: Server, aws: StubbedSession, tmp_path: Path
) -> None:
    assert str(model_line(aws, tmp_path)) == (
        f"  ok  model: {hub[0]}/owner/name/resolve/{REVISION}/tiny.gguf has 1234 bytes"
    )


@pytest.mark.parametrize(
    ("change", "todo"),
    [
        ((SHA256, "1" * 64), f"model.sha256 is {'1' * 64}: correct one of them."),
        (("sha256", "size_bytes = 1235\nsha256"), "model.size_bytes is 1235: correct it."),
        (("tiny.gguf", "other.gguf"), "Look for repository, revision and file; HF_TOKEN opens what is gated."),
    ],
)
def test_a_file_that_is_another_or_not_there_is_told(
    hub: Server, aws: StubbedSession, tmp_path: Path, change: tuple[str, str], todo: str
) -> None:
    text = f'repository = "owner/name"\nrevision = "{REVISION}"\nfile = "tiny.gguf"\nsha256 = "{SHA256}"\n'
    line = model_line(aws, tmp_path, text.replace(*change))
    assert line.todo == todo
    assert hub[0] in line.found


def test_an_object_is_there_or_not(aws: StubbedSession, tmp_path: Path) -> None:
    text = f'uri = "s3://models/a/tiny.gguf"\nsha256 = "{SHA256}"\n'
    asked = {"Bucket": "models", "Key": "a/tiny.gguf"}
    aws.stubbed("s3").add_response("head_object", {"ContentLength": 99}, asked)
    aws.stubbed("s3").add_client_error("head_object", "404", "Not Found", expected_params=asked)
    assert model_line(aws, tmp_path, text) == Line("model", "s3://models/a/tiny.gguf has 99 bytes")
    assert model_line(aws, tmp_path, text).todo == "Put it there, or let who deploys read it."


def test_an_image_is_looked_for_by_its_digest(server: Server) -> None:
    url, answers = server
    digest = f"sha256:{SHA256}"
    answers["/token/"] = (200, {}, b'{"token": "t"}')
    answers[f"/v2/x/llama-cpp/manifests/{digest}"] = (200, {}, b"")
    assert sources.image_line(PinnedImage.parse(f"public.ecr.aws/x/llama-cpp@{digest}"), url).todo is None
    missing = sources.image_line(PinnedImage.parse(f"public.ecr.aws/x/llama-cpp@sha256:{'1' * 64}"), url)
    assert "404" in missing.found
    assert missing.todo == "Set [images] to one that is there."


REGIONAL = {
    "registryId": "763104351884",
    "repositoryName": "llama-cpp",
    "imageIds": [{"imageDigest": "sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"}],
}


def image_lines(aws: StubbedSession, folder: Path) -> list[Line]:
    text = f'[images]\nsource = "regional"\n{CPU}'
    model = f'uri = "s3://models/a/tiny.gguf"\nsha256 = "{SHA256}"\n'
    aws.stubbed("s3").add_response("head_object", {"ContentLength": 99})
    return [line for line in sources.lines(load(folder, text, model=model), aws) if line.what == "image"]


def test_an_image_of_a_private_registry_is_asked_of_its_account(aws: StubbedSession, tmp_path: Path) -> None:
    image = {"imageId": REGIONAL["imageIds"][0]}
    aws.stubbed("ecr").add_response("batch_get_image", {"images": [image]}, REGIONAL)
    [line] = image_lines(aws, tmp_path)
    assert line.todo is None
    assert line.found.startswith("763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:1f19")


def test_an_image_that_a_private_registry_has_not_is_told(aws: StubbedSession, tmp_path: Path) -> None:
    aws.stubbed("ecr").add_response("batch_get_image", {"images": []}, REGIONAL)
    [line] = image_lines(aws, tmp_path)
    assert line.todo == "Set [images] to one that is there, or source to 'copy'."


def test_a_private_registry_that_may_not_be_asked_is_told(aws: StubbedSession, tmp_path: Path) -> None:
    aws.stubbed("ecr").add_client_error("batch_get_image", "AccessDeniedException", expected_params=REGIONAL)
    [line] = image_lines(aws, tmp_path)
    assert "AccessDeniedException" in line.found
    assert line.todo == "Let who deploys pull it, or set [images] to one that is there."


def test_a_registry_that_cannot_be_reached_is_a_matter_of_the_network(server: Server) -> None:
    image = PinnedImage.parse(f"public.ecr.aws/x/llama-cpp@sha256:{SHA256}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert sources.image_line(image, nobody).todo == "Check the network and its proxy."
    server[1]["/token/"] = (200, {}, b"<html>sign in</html>")
    assert sources.image_line(image, server[0]).todo == "Check the network and its proxy."


def test_only_images_that_are_fetched_are_looked_for(tmp_path: Path) -> None:
    def digests(text: str) -> set[str]:
        return {image.digest[7:11] for image in sources.fetched_images(load(tmp_path, text))}

    gpu = '[decision]\ninstance_type = "ml.g6.xlarge"\n'
    pushed = f'[existing]\nrepository = "mine"\n{CPU}image_digest = "sha256:{SHA256}"\n'
    assert digests(CPU) == {"1f19"}
    assert digests(gpu) == {"9f2e"}
    assert digests(gpu + '[batch]\ninstance_type = "ml.c6i.large"\n') == {"9f2e", "1f19"}
    assert digests(pushed) == set()
    assert digests(pushed + '[chat]\ninstance_type = "ml.g6.xlarge"\n') == {"9f2e"}
