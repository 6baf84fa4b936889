"""The settings of one environment, read from `environments/<name>.toml` and checked all at once.

Each section is a frozen model; a section's own rules run beside its field checks, so that one run names every problem.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationError

from decision_constructs.batch import Batch
from decision_constructs.errors import SettingsError, UnknownEnvironmentError
from decision_constructs.instance_type import Accelerator, InstanceType
from decision_constructs.scaling import Scaling, admission_rules, scaling_rules
from decision_constructs.section import Problem, Raw, Section, expected
from decision_constructs.updates import Updates, update_rules

ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")
INFERENCE_AMI_CUDA_13 = "al2023-ami-sagemaker-inference-gpu-4-1"
"""The one inference AMI whose driver (580) runs the CUDA 13.0 of the published GPU image; the default is too old."""

_PUBLISHED = "public.ecr.aws/deep-learning-containers/llama-cpp"

# no `..`, nothing a shell or a URI would read in another way; `-00001-of-00002` is one part of a split model
_PLAIN_PATH = r"(?:[A-Za-z0-9_][A-Za-z0-9_.+ -]*/)*[A-Za-z0-9_][A-Za-z0-9_.+ -]*"
_SPLIT = re.compile(r"-[0-9]{5}-of-[0-9]{5}\.gguf$")

Revision = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$", description="a commit of 40 lower-case hex digits")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="64 lower-case hex digits")]
Repository = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="a Hugging Face repository, owner/name",
    ),
]
GgufFile = Annotated[str, Field(pattern=rf"^{_PLAIN_PATH}\.gguf$", description="a .gguf file of the repository")]
GgufUri = Annotated[
    str,
    Field(pattern=rf"^s3://[a-z0-9][a-z0-9.-]+/{_PLAIN_PATH}\.gguf$", description="s3://bucket/key.gguf"),
]
Account = Annotated[str, Field(pattern=r"^[0-9]{12}$", description="an AWS account of 12 digits, in quotes")]
InstanceTypes = Annotated[tuple[str, ...], Field(strict=False, description="a list of instance types, in quotes")]
ProvisionTimeout = Annotated[
    int, Field(ge=300, le=3600, description="300 to 3600 seconds for each pool to find capacity")
]
GpuLayers = Annotated[
    int, Field(ge=-1, le=1000, description="-1 (all layers on the GPU), 0 (none) or a number up to 1000")
]
InferenceAmi = Annotated[
    str,
    Field(
        pattern=r"^al[0-9a-z-]*-ami-sagemaker-inference-gpu-[0-9-]+$", description="a SageMaker inference AMI version"
    ),
]
ImageReference = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-zA-Z0-9_.:-]*(/[a-zA-Z0-9_.-]+)+@sha256:[0-9a-f]{64}$",
        description="an image pinned by digest, repository@sha256:<64 hex digits>; a tag can change under the endpoint",
    ),
]


class Tokenizer(Section):
    """The tokenizer files packed beside the GGUF; they bring the chat template."""

    repository: Repository
    revision: Revision


class Model(Section):
    """The GGUF that both contracts serve: from the Hugging Face Hub, or from S3."""

    repository: Repository | None = None
    revision: Revision | None = None
    file: GgufFile | None = None
    uri: GgufUri | None = None
    sha256: Sha256
    tokenizer: Tokenizer | None = None

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """One source, whole."""
        for key in ("file", "uri"):
            if isinstance(raw.get(key), str) and _SPLIT.search(raw[key]):
                yield (key,), f"{raw[key]!r}: one part of a split model; join the parts with llama-gguf-split --merge"
        hub = [key for key in ("repository", "revision", "file") if key in raw]
        if bool(hub) == ("uri" in raw):
            yield (), "give one source: repository, revision and file (Hugging Face Hub), or uri (S3)"
        elif hub:
            for key in {"repository", "revision", "file"} - set(hub):
                yield (key,), f"missing; {expected(cls, key)}"


class Images(Section):
    """The published llama.cpp containers, pinned. The chat endpoint runs one; the decision images are built on them."""

    cpu: ImageReference = f"{_PUBLISHED}@sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43"
    cuda: ImageReference = f"{_PUBLISHED}@sha256:9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36"
    llama_cpp_python: Annotated[
        str,
        Field(
            pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$", description="the release that fits the base's libllama, e.g. 0.3.35"
        ),
    ] = "0.3.35"

    def base(self, accelerator: Accelerator) -> str:
        """The published image for the accelerator, `repository@sha256:…`."""
        return {Accelerator.CPU: self.cpu, Accelerator.CUDA: self.cuda}[accelerator]


class Endpoint(Section):
    """What every endpoint says about its production variant.

    Exactly one of `instance_type` and `instance_pools`: pools are tried in the order written until one has capacity.
    """

    instance_type: str | None = None
    instance_pools: InstanceTypes = ()
    instance_count: Annotated[int, Field(ge=1, le=100, description="1 to 100 instances")] = 1
    provision_timeout_seconds: ProvisionTimeout | None = None
    startup_timeout_seconds: Annotated[
        int, Field(ge=60, le=3600, description="60 to 3600 seconds until /ping answers 200; loading the model is in it")
    ] = 900
    download_timeout_seconds: Annotated[
        int, Field(ge=60, le=3600, description="60 to 3600 seconds to fetch and extract the model archive")
    ] = 900
    inference_ami: InferenceAmi | None = None
    gpu_layers: GpuLayers | None = None
    threads: Annotated[int, Field(ge=1, le=192, description="1 to 192 threads")] | None = None
    updates: Updates = Updates()
    scaling: Scaling | None = None

    _MAX_POOLS: ClassVar[int] = 5

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Type or pools; pools few, distinct and of one kind; GPU settings only with GPUs."""
        yield from update_rules(raw)
        yield from scaling_rules(raw)
        pools = raw.get("instance_pools", [])
        if ("instance_type" in raw) == ("instance_pools" in raw):
            yield (), "give exactly one of instance_type and instance_pools"
        names = [("instance_type", raw.get("instance_type"))]
        if isinstance(pools, list):
            names += [(f"instance_pools[{index}]", name) for index, name in enumerate(pools)]
            if "instance_pools" in raw and not 1 <= len(pools) <= cls._MAX_POOLS:
                yield ("instance_pools",), f"{len(pools)} pools: expected 1 to {cls._MAX_POOLS}"
            for name in sorted({str(name) for name in pools if pools.count(name) > 1}):
                yield ("instance_pools",), f"{name!r} is there twice: each pool is another instance type"
        yield from cls._hardware_rules(raw, [(where, name) for where, name in names if isinstance(name, str)])

    @classmethod
    def _hardware_rules(cls, raw: Raw, names: list[tuple[str, str]]) -> Iterator[Problem]:
        accelerators = set()
        for where, name in names:
            try:
                accelerators.add(InstanceType.parse(name).accelerator)
            except ValueError as problem:
                yield (where,), str(problem)
        if len(accelerators) > 1:
            yield ("instance_pools",), "CPU and GPU types are mixed: one image serves all pools, so choose one kind"
        if "provision_timeout_seconds" in raw and "instance_pools" not in raw:
            yield ("provision_timeout_seconds",), "only instance_pools have one; remove it or list pools"
        if accelerators == {Accelerator.CPU}:
            if raw.get("gpu_layers"):
                yield ("gpu_layers",), f"{raw['gpu_layers']!r}: the instances have no GPU; remove it or set 0"
            if "inference_ami" in raw:
                yield ("inference_ami",), "is for GPU instances; remove it"

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The types in order of preference."""
        return (self.instance_type,) if self.instance_type else self.instance_pools

    @property
    def accelerator(self) -> Accelerator:
        """What all its instances compute with."""
        return InstanceType.parse(self.instance_types[0]).accelerator

    @property
    def inference_ami_version(self) -> str | None:
        """The AMI whose driver fits the image; the platform's default one on a CPU."""
        return self.inference_ami or (INFERENCE_AMI_CUDA_13 if self.accelerator is Accelerator.CUDA else None)

    @property
    def gpu_layers_or_default(self) -> int:
        """All layers on a GPU unless said otherwise; none without one. 0 is a value."""
        if self.gpu_layers is not None:
            return self.gpu_layers
        return -1 if self.accelerator is Accelerator.CUDA else 0


class ChatEndpoint(Endpoint):
    """The published container as it is: OpenAI Chat Completions."""

    context_tokens: Annotated[int, Field(ge=256, le=1_048_576, description="256 to 1048576 tokens of context")] = 8192
    arguments: dict[str, str] = Field(
        default_factory=dict, description='a table of more llama-server options, e.g. { flash-attn = "on" }'
    )

    _ARGUMENT: ClassVar[re.Pattern[str]] = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
    _OURS: ClassVar[frozenset[str]] = frozenset(
        {"ctx-size", "hf-file", "hf-repo", "host", "model", "model-dir", "n-gpu-layers", "port", "threads"}
    )

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Arguments are options of llama-server, and none that something else decides."""
        yield from super().rules(raw)
        arguments = raw.get("arguments", {})
        for name in arguments if isinstance(arguments, dict) else ():
            if not cls._ARGUMENT.fullmatch(name):
                yield (
                    ("arguments",),
                    f"{name!r} is no llama-server option; they read like flash-attn",
                )
            elif name in cls._OURS:
                yield ("arguments",), f"{name!r} is not for here: the container or a setting of this table decides it"


class DecisionEndpoint(Endpoint):
    """Our adapter: probabilities over the options of a decision."""

    max_tokens: Annotated[int, Field(ge=256, le=1_048_576, description="256 to 1048576 tokens a decision")] = 4096
    max_request_tokens: Annotated[int, Field(ge=256, le=1_048_576, description="256 to 1048576 tokens a request")] = (
        8192
    )
    max_shared_decisions: Annotated[int, Field(ge=1, le=400, description="1 to 400 decisions over one state")] = 8
    cache_tokens: Annotated[
        int, Field(ge=0, le=16_777_216, description="0 to 16777216 tokens of states kept in host memory")
    ] = 16_384
    max_body_bytes: Annotated[int, Field(ge=1024, le=6_291_456, description="1024 to 6291456 bytes")] = 262_144
    max_in_flight: Annotated[int, Field(ge=1, le=64, description="1 to 64 requests admitted at a time")] = 1

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """A request holds at least one decision; a container admits more than the load it is scaled at."""
        yield from super().rules(raw)
        yield from admission_rules(raw)
        one, whole = raw.get("max_tokens", 4096), raw.get("max_request_tokens", 8192)
        if isinstance(one, int) and isinstance(whole, int) and whole < one:
            yield (
                ("max_request_tokens",),
                f"{whole}: smaller than max_tokens ({one}), so none could be that long",
            )


class Settings(Section):
    """One environment."""

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", description="an AWS region, e.g. us-east-1")]
    account: Account | None = None
    removal_policy: Annotated[
        Literal["retain", "destroy"],
        Field(description="'retain' or 'destroy': what becomes of bucket and images when the stacks are deleted"),
    ] = "retain"
    model: Model
    images: Images = Images()
    chat: ChatEndpoint | None = None
    decision: DecisionEndpoint | None = None
    batch: Batch | None = None

    @classmethod
    def rules(cls, raw: Raw) -> Iterator[Problem]:
        """Something is served; bulk work is the decision contract's."""
        if "batch" in raw and "decision" not in raw:
            yield ("batch",), "runs the container of [decision] with its limits; give that too"
        if not {"chat", "decision"} & raw.keys():
            yield (), "no endpoint: give [chat], [decision] or both"


def environment_names(folder: Path) -> list[str]:
    """The environments that have a file, sorted."""
    return sorted(file.stem for file in folder.glob("*.toml"))


def load(name: str, folder: Path) -> Settings:
    """Read and check `<folder>/<name>.toml`.

    Raises:
        UnknownEnvironmentError: there is no such file, or the name could not be a part of resource names.
        SettingsError: the file is not TOML, or something in it is wrong; it lists everything.
    """
    file = folder / f"{name}.toml"
    if not ENVIRONMENT_NAME.fullmatch(name) or not file.is_file():
        raise UnknownEnvironmentError(name, folder, environment_names(folder))
    shown = f"{folder.name}/{file.name}"
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(shown, [f"not TOML in UTF-8: {error}"]) from error
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        raise SettingsError(shown, [f"{_key(line['loc'])}{line['msg']}" for line in error.errors()]) from error


def _key(location: tuple[str | int, ...]) -> str:
    """`("decision", "instance_pools", 2)` → `decision.instance_pools[2]: `."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")
    return f"{text}: " if text else ""
