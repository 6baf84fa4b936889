"""The settings of one environment, read from `environments/<name>.toml` and checked all at once.

Each section is a frozen model; a section's own rules run beside its field checks, so that one run names every problem.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationError

from decision_constructs import base_image, inference_ami
from decision_constructs.batch import Batch
from decision_constructs.errors import SettingsError, UnknownEnvironmentError
from decision_constructs.image_settings import Images
from decision_constructs.instance_type import Accelerator, InstanceType
from decision_constructs.model_settings import Model
from decision_constructs.monitoring_settings import Alarms, DecisionAlarms, Monitoring
from decision_constructs.scaling import Scaling, admission_rules, scaling_rules
from decision_constructs.section import Problem, Raw, Section
from decision_constructs.security_settings import DataCapture, Encryption, Existing, Network
from decision_constructs.updates import Updates, update_rules

ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")
Account = Annotated[str, Field(pattern=r"^[0-9]{12}$", description="an AWS account of 12 digits, in quotes")]
InstanceTypes = Annotated[tuple[str, ...], Field(strict=False, description="a list of instance types, in quotes")]
ProvisionTimeout = Annotated[
    int, Field(ge=300, le=3600, description="300 to 3600 seconds to find capacity in any of the pools")
]
GpuLayers = Annotated[
    int, Field(ge=-1, le=1000, description="-1 (all layers on the GPU), 0 (none) or a number up to 1000")
]
ImageDigest = Annotated[
    str,
    Field(
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="the digest of a decision image in existing.repository, sha256:<64 hex digits>",
    ),
]
InferenceAmi = Annotated[
    str,
    Field(
        pattern=f"^({'|'.join(inference_ami.CUDA_MAJORS)})$",
        description=f"an inference AMI version: {', '.join(inference_ami.CUDA_MAJORS)}",
    ),
]


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
    data_capture: DataCapture | None = None
    alarms: Alarms = Alarms()

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
            kinds = " and ".join(sorted(accelerators))
            yield ("instance_pools",), f"{kinds} types are mixed: one image serves all pools, so choose one kind"
        if "provision_timeout_seconds" in raw and "instance_pools" not in raw:
            yield ("provision_timeout_seconds",), "only instance_pools have one; remove it or list pools"
        if accelerators and Accelerator.CUDA not in accelerators:
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

    def inference_ami_version(self, images: Images) -> str | None:
        """The AMI whose driver fits the image; the platform's default one on a CPU."""
        if self.accelerator is not Accelerator.CUDA:
            return None
        return self.inference_ami or inference_ami.default(images.cuda_major)

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
    image_digest: ImageDigest | None = None
    alarms: DecisionAlarms = DecisionAlarms()

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
    network: Network | None = None
    encryption: Encryption = Encryption()
    existing: Existing = Existing()
    monitoring: Monitoring = Monitoring()
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
        existing, decision = raw.get("existing"), raw.get("decision")
        if isinstance(decision, dict) and "image_digest" in decision and "repository" not in (existing or ()):
            yield ("existing", "repository"), "missing; decision.image_digest is of an image there"
        yield from cls._image_rules(raw)

    @classmethod
    def _image_rules(cls, raw: Raw) -> Iterator[Problem]:
        """Instance family, image and driver fit each other. What is wrong in a section alone is told by that."""
        try:
            images = Images.model_validate(raw.get("images", {}))
        except ValidationError:
            return
        endpoints: dict[str, Endpoint] = {}
        for contract, section in (("chat", ChatEndpoint), ("decision", DecisionEndpoint)):
            with suppress(KeyError, ValidationError):
                endpoints[contract] = section.model_validate(raw[contract])
        yield from images.misfits(endpoints, raw.get("region"), in_vpc="network" in raw)
        decision = endpoints.get("decision")
        if isinstance(decision, DecisionEndpoint):
            built = {Accelerator.CPU} if "batch" in raw else set[Accelerator]()
            built = built - {decision.accelerator} if decision.image_digest else built | {decision.accelerator}
            yield from base_image.problems({one: image for one, image in images.bases.items() if one in built})

    @property
    def uses_bucket(self) -> bool:
        """Whether archives, captured data, or what transform jobs read and write are in the environment's bucket."""
        captures = [endpoint.data_capture for endpoint in self.endpoints.values() if endpoint.data_capture]
        captured = any(capture.uri is None for capture in captures)
        return self.model.archive_uri is None or captured or self.batch is not None

    @property
    def decision_containers(self) -> dict[str, Accelerator]:
        """What the decision container runs on, by who runs it: the endpoint, and transform jobs, on a CPU."""
        served = {"decision": self.decision.accelerator} if self.decision else {}
        return served | ({"batch": Accelerator.CPU} if self.batch else {})

    def pushed_image_digest(self, accelerator: Accelerator) -> str | None:
        """The decision image for it that is in the repository already; None when one is to be built."""
        decision = self.decision
        return decision.image_digest if decision and decision.accelerator is accelerator else None

    @property
    def endpoints(self) -> dict[str, Endpoint]:
        """The endpoints by contract."""
        both = {"chat": self.chat, "decision": self.decision}
        return {contract: endpoint for contract, endpoint in both.items() if endpoint}


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
