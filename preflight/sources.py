"""What a deployment fetches: the published images by digest, and the model by its hash."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message
from typing import Any
from urllib.parse import quote, urlsplit

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from decision_constructs.model_settings import Model
from decision_constructs.pinned_image import PUBLIC_REGISTRY, PinnedImage
from decision_constructs.settings import Settings
from preflight.line import Line

_TIMEOUT_SECONDS = 30
_MANIFESTS = ", ".join(
    (
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
    )
)


def lines(settings: Settings, session: botocore.session.Session) -> Iterator[Line]:
    """Whether each image and the model are where the settings say, and what the settings say."""
    for image in sorted(fetched_images(settings)):
        yield private_image_line(image, session) if image.ecr else image_line(image)
    yield model_line(settings.model, settings.region, session)


def fetched_images(settings: Settings) -> set[PinnedImage]:
    """What the chat endpoint runs, and what decision images are built on."""
    built = {one for one in settings.decision_containers.values() if not settings.pushed_image_digest(one)}
    chat = {settings.chat.accelerator} if settings.chat else set()
    return {settings.images.pulled(accelerator, settings.region) for accelerator in built | chat}


def private_image_line(image: PinnedImage, session: botocore.session.Session) -> Line:
    """Whether a private registry of ECR has the image by its digest: an account's, or AWS's of the region."""
    account, region = image.ecr or ("", "")
    ecr: Any = session.create_client("ecr", region_name=region)
    asked = {"registryId": account, "repositoryName": image.repository, "imageIds": [{"imageDigest": image.digest}]}
    try:
        found = ecr.batch_get_image(**asked)["images"]
    except (BotoCoreError, ClientError) as error:
        return Line("image", f"{image}: {error}", "Let who deploys pull it, or set [images] to one that is there.")
    if not found:
        return Line("image", f"{image} is not there", "Set [images] to one that is there, or source to 'copy'.")
    return Line("image", f"{image} is there")


def image_line(image: PinnedImage, registry_url: str = f"https://{PUBLIC_REGISTRY}") -> Line:
    """Whether ECR Public has the image by its digest; no other registry is asked."""
    if image.registry != PUBLIC_REGISTRY:
        return Line("image", f"{image} is in a registry that is not asked here")
    scope = f"repository:{image.repository}:pull"
    try:
        _, granted = _ask(f"{registry_url}/token/?service={PUBLIC_REGISTRY}&scope={scope}")
        headers = {"Authorization": f"Bearer {json.loads(granted)['token']}", "Accept": _MANIFESTS}
        _ask(f"{registry_url}/v2/{image.repository}/manifests/{image.digest}", method="HEAD", headers=headers)
    except (OSError, ValueError, KeyError) as error:
        return Line("image", f"{image}: {error}", _todo(error, "Set [images] to one that is there."))
    return Line("image", f"{image} is there")


def model_line(model: Model, region: str, session: botocore.session.Session) -> Line:
    """Whether the model is there, and the one that the settings pin."""
    uri = model.uri or model.archive_uri
    return _object(model, uri, session.create_client("s3", region_name=region)) if uri else _hub_file(model)


def _object(model: Model, uri: str, s3: Any) -> Line:
    """The hash of an object is not known to S3; the build checks it."""
    where = urlsplit(uri)
    try:
        size_bytes = s3.head_object(Bucket=where.netloc, Key=where.path.lstrip("/"))["ContentLength"]
    except (BotoCoreError, ClientError) as error:
        return Line("model", f"{uri}: {error}", "Put it there, or let who deploys read it.")
    return _sized(model, uri, size_bytes) if model.uri else Line("model", f"{uri} has {size_bytes} bytes")


def _hub_file(model: Model) -> Line:
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    url = f"{hub}/{model.repository}/resolve/{model.revision}/{quote(model.file or '')}"
    token = os.environ.get("HF_TOKEN")
    try:
        told, _ = _ask(url, method="HEAD", headers={"Authorization": f"Bearer {token}"} if token else {})
    except OSError as error:
        todo = _todo(error, "Look for repository, revision and file; HF_TOKEN opens what is gated.")
        return Line("model", f"{url}: {error}", todo)
    found = told.get("X-Linked-Etag", "").strip('"')
    if found != model.sha256:
        return Line("model", f"{url} has the SHA-256 {found}", f"model.sha256 is {model.sha256}: correct one of them.")
    return _sized(model, url, int(told["X-Linked-Size"]))


def _sized(model: Model, where: str, size_bytes: int) -> Line:
    if model.size_bytes not in (None, size_bytes):
        return Line("model", f"{where} has {size_bytes} bytes", f"model.size_bytes is {model.size_bytes}: correct it.")
    return Line("model", f"{where} has {size_bytes} bytes")


def _todo(error: Exception, when_refused: str) -> str:
    return when_refused if isinstance(error, urllib.error.HTTPError) else "Check the network and its proxy."


class _Stay(urllib.request.HTTPRedirectHandler):
    """The Hub says hash and size before it redirects to the storage."""

    def redirect_request(self, *_: Any) -> None:
        """No other request."""


def _ask(url: str, *, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[Message, bytes]:
    """Headers and body of the answer; a redirect is one.

    Raises:
        OSError: nobody answered, or with a status of 400 or more.
    """
    request = urllib.request.Request(url, method=method, headers=headers or {})
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=_TIMEOUT_SECONDS) as answer:
            return answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            if error.code >= 400:
                raise
            return error.headers, b""
