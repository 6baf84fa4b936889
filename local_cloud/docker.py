"""A stand-in for the `docker` command in builds: it records what an image would contain, and registers its digest.

Nothing is executed: a RUN line counts for the digest only. The container that serves is started from the recorded copy
of the build context, with the Python that runs the cloud. Nothing is fetched: an image of another registry is known by
its name and digest, and so is a copy of it. Where images are to be built, buildah builds them instead.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from local_cloud.built_images import BuiltImage, image_store
from local_cloud.errors import ImageError
from local_cloud.image_store import INDEX_TYPE, MANIFEST_TYPE, PINNED, Image
from local_cloud.state_directory import StateDirectory

STATE_DIRECTORY_VARIABLE = "LOCAL_CLOUD_STATE_DIR"
_DEFAULT_PLATFORM = "linux/amd64"
# Options that change how an engine builds or shows a build, and nothing in what is built.
_WITHOUT_EFFECT = ("provenance", "sbom", "progress", "cache-from", "cache-to", "network", "builder", "attest")
_FLAGS_WITHOUT_EFFECT = ("pull", "no-cache", "load", "rm", "force-rm")


class DockerState:
    """What the stand-in remembers between two commands."""

    def __init__(self, state: StateDirectory) -> None:
        self.images = image_store(state.images)
        self._logins = state.data / "docker-logins.json"

    def log_in(self, registry: str) -> None:
        """Remember that pushes to a registry may follow."""
        self._logins.write_text(json.dumps(sorted({*self._registries(), registry})))

    def check_logged_in(self, registry: str) -> None:
        """Refuse, as docker does, what was not logged in to.

        Raises:
            ImageError: no login came before.
        """
        if registry not in self._registries():
            raise ImageError(f"no basic auth credentials for {registry}: run docker login first")

    def _registries(self) -> list[str]:
        return list(json.loads(self._logins.read_text())) if self._logins.is_file() else []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one docker command; 0, or 1 with the reason on standard error."""
    options = _parser().parse_args(_without_buildx(list(sys.argv[1:] if arguments is None else arguments)))
    state = StateDirectory(Path(os.environ[STATE_DIRECTORY_VARIABLE]))
    run: Callable[[argparse.Namespace, DockerState], None] = options.run
    try:
        run(options, DockerState(state))
    except ImageError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    except ClientError as error:
        print(f"ERROR: {error.response['Error']['Code']}: {error.response['Error']['Message']}", file=sys.stderr)
        return 1
    return 0


def _login(options: argparse.Namespace, state: DockerState) -> None:
    password = sys.stdin.read().strip() if options.password_stdin else options.password
    if not password:
        raise ImageError("Error: Cannot perform an interactive login: give the password with --password-stdin")
    state.log_in(_registry(options.server))
    print("Login Succeeded")


def _build(options: argparse.Namespace, state: DockerState) -> None:
    context = Path(options.context)
    dockerfile = Path(options.file) if options.file else context / "Dockerfile"
    build_args = {}
    for argument in options.build_arg:
        name, assigned, value = argument.partition("=")
        build_args[name] = value if assigned else os.environ.get(name, "")
    image = state.images.build(
        context, dockerfile, build_args, options.platform, target=options.target, secrets=options.secret
    )
    for name in options.tag:
        state.images.tag(name, image.digest)
    if options.iidfile:
        Path(options.iidfile).write_text(image.image_id)
    if options.metadata_file:
        Path(options.metadata_file).write_text(json.dumps({"containerimage.digest": image.digest}))
    print(image.image_id if options.quiet else f"writing image {image.image_id} done")
    if options.push or any("push=true" in output for output in options.output):
        for name in options.tag:
            _push_image(name, image, state)


def _push(options: argparse.Namespace, state: DockerState) -> None:
    _push_image(options.name, state.images.resolve(options.name), state)


def _push_image(name: str, image: Image | BuiltImage, state: DockerState) -> None:
    tag = _put(name, image.manifest, image.digest, state)
    print(f"{tag}: digest: {image.digest} size: {len(image.manifest)}")


def _put(name: str, manifest: str, digest: str, state: DockerState) -> str:
    """Register a manifest under a name in ECR; its tag."""
    registry, _, repository = name.partition("/")
    repository, _, tag = repository.rpartition(":")
    if not repository:
        raise ImageError(f"{name!r} is not registry/repository:tag")
    state.check_logged_in(registry)
    print(f"The push refers to repository [{registry}/{repository}]")
    boto3.client("ecr").put_image(
        repositoryName=repository,
        imageTag=tag,
        imageManifest=manifest,
        imageManifestMediaType=json.loads(manifest)["mediaType"],
        imageDigest=digest,
    )
    return tag


def _inspect_manifest(options: argparse.Namespace, state: DockerState) -> None:
    if not options.raw:
        raise ImageError("the local cloud inspects manifests with --raw only")
    print(_manifest(options.name, state))


def _create(options: argparse.Namespace, state: DockerState) -> None:
    """As docker does: an index of the image, another digest, unless a copy is asked for."""
    name, _, digest = options.source.partition("@")
    manifest = _manifest(options.source, state)
    if options.prefer_index != "false":
        entry = {"mediaType": MANIFEST_TYPE, "digest": digest, "size": len(manifest)}
        manifest = json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]})
        digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
    elif state.images.find(digest) is None:
        state.images.add_published(name, digest)
    for tag in options.tag:
        print(f"pushing {digest} to {_put(tag, manifest, digest, state)}")


def _manifest(reference: str, state: DockerState) -> str:
    """The manifest of an image that was built here, or one in the place of a published image's."""
    if not PINNED.fullmatch(reference):
        raise ImageError(f"{reference!r} is not pinned: give repository@sha256:<64 hex digits>")
    image = state.images.find(reference.partition("@")[2])
    return image.manifest if image else json.dumps({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "of": reference})


def _tag(options: argparse.Namespace, state: DockerState) -> None:
    state.images.tag(options.target, state.images.resolve(options.source).digest)


def _pull(options: argparse.Namespace, state: DockerState) -> None:
    if not PINNED.fullmatch(options.name):
        raise ImageError(f"{options.name} is not pinned: give repository@sha256:<64 hex digits>")
    image = state.images.base(options.name)
    print(f"{options.name}: {f'{image.image_id} stands in for it' if image else 'nothing is pulled here'}")


def _inspect(options: argparse.Namespace, state: DockerState) -> None:
    if PINNED.fullmatch(options.name):
        image, tags = state.images.base(options.name), []
    else:
        image, tags = state.images.resolve(options.name), [options.name]
    layers = json.loads(image.manifest)["layers"] if image else []
    repository = options.name.partition("@")[0] if not tags else options.name.rpartition(":")[0]
    shown = {
        "Id": image.image_id if image else "",
        "RepoTags": tags,
        "RepoDigests": [f"{repository}@{image.digest}"] if image else [],
        "RootFS": {"Type": "layers", "Layers": [layer["digest"] for layer in layers]},
    }
    print(json.dumps([shown]))


def _version(_options: argparse.Namespace, _state: DockerState) -> None:
    print("Docker version 0 (the local cloud's stand-in: it records images and runs nothing)")


def _registry(server: str) -> str:
    return server.removeprefix("https://").removeprefix("http://").split("/")[0]


def _without_buildx(arguments: list[str]) -> list[str]:
    """`docker buildx build` and `docker image build` are `docker build`."""
    return arguments[1:] if arguments[:1] in (["buildx"], ["image"]) else arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="docker", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="store_const", const=_version, dest="run")
    commands = parser.add_subparsers()

    login = commands.add_parser("login")
    login.add_argument("-u", "--username", required=True)
    login.add_argument("-p", "--password")
    login.add_argument("--password-stdin", action="store_true")
    login.add_argument("server")
    login.set_defaults(run=_login)

    build = commands.add_parser("build", allow_abbrev=False)
    build.add_argument("-t", "--tag", action="append", default=[])
    build.add_argument("-f", "--file")
    build.add_argument("-o", "--output", action="append", default=[])
    build.add_argument("-q", "--quiet", action="store_true")
    build.add_argument("--platform", default=_DEFAULT_PLATFORM)
    build.add_argument("--build-arg", action="append", default=[])
    build.add_argument("--push", action="store_true")
    build.add_argument("--target", default="")
    build.add_argument("--secret", action="append", default=[])
    build.add_argument("--iidfile")
    build.add_argument("--metadata-file")
    for name in _WITHOUT_EFFECT:
        build.add_argument(f"--{name}", action="append", help="accepted, without effect here")
    for name in _FLAGS_WITHOUT_EFFECT:
        build.add_argument(f"--{name}", nargs="?", const="true", help="accepted, without effect here")
    build.add_argument("context")
    build.set_defaults(run=_build)

    pull = commands.add_parser("pull")
    pull.add_argument("--platform")
    pull.add_argument("name")
    pull.set_defaults(run=_pull)
    push = commands.add_parser("push")
    push.add_argument("name")
    push.set_defaults(run=_push)
    tag = commands.add_parser("tag")
    tag.add_argument("source")
    tag.add_argument("target")
    tag.set_defaults(run=_tag)
    inspect = commands.add_parser("inspect")
    inspect.add_argument("name")
    inspect.set_defaults(run=_inspect)
    commands.add_parser("version").set_defaults(run=_version)
    _add_imagetools(commands.add_parser("imagetools"))
    return parser


def _add_imagetools(imagetools: argparse.ArgumentParser) -> None:
    commands = imagetools.add_subparsers(required=True)
    inspect = commands.add_parser("inspect", allow_abbrev=False)
    inspect.add_argument("--raw", action="store_true")
    inspect.add_argument("name")
    inspect.set_defaults(run=_inspect_manifest)
    create = commands.add_parser("create", allow_abbrev=False)
    create.add_argument("-t", "--tag", action="append", default=[])
    create.add_argument("--prefer-index", nargs="?", const="true", default="true")
    create.add_argument("source")
    create.set_defaults(run=_create)


if __name__ == "__main__":
    sys.exit(main())
