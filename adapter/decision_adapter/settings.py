"""Settings of the decision container, read once from SEMIF_* environment variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from decision_adapter.cpus import available_cpus
from decision_adapter.errors import SettingsError

BASE_IMAGE_LIBRARIES = Path("/opt/llama.cpp/bin")
"""Where the published llama.cpp container keeps its libraries."""

PROMPT_PROFILES = ("direct-options-v1", "decider-plain", "decider-chat")
"""Those of ``profile.py``, named here because the process that checks the settings loads nothing else."""


@dataclass(frozen=True)
class Settings:
    """Every field is one variable, ``SEMIF_`` and its name in capitals (``lib_dir``: ``SEMIF_LLAMA_CPP_LIB_DIR``)."""

    model_dir: Path
    """Where the model archive is extracted; read only."""
    gguf_path: Path | None
    """The GGUF itself, when it is not to be looked for under ``model_dir``."""
    tokenizer_source: Path
    """Folder of tokenizer files; when it does not exist, the GGUF's own chat template is used."""
    tokenizer_revision: str | None
    """Revision to report for the tokenizer when the manifest has none."""
    threads: int
    """CPU threads of a decode. More than the CPUs the container may use makes it slower, not faster."""
    n_gpu_layers: int
    """Layers on the GPU: 0 none, -1 all. Anything but 0 without a GPU is a refusal to start."""
    max_tokens: int
    """Tokens of one decision. The KV cache is allocated for it at start, twice (state and branch)."""
    max_request_tokens: int
    """Tokens decoded for one request; bounds how long a caller can hold the engine."""
    max_shared_decisions: int
    """Decisions of one request over the same state."""
    cache_tokens: int
    """Tokens of states kept as snapshots in host memory, beside the one that is held for free. Memory against reading
    a state again that was asked about before; 0 keeps the scaffold alone."""
    max_body_bytes: int
    """Bytes of a request body."""
    max_in_flight: int
    """Requests admitted at once; one is scored, the others wait. More trades 503 answers for waiting."""
    deadline_seconds: int
    """Seconds a request may take, waiting included. What cannot be done in them is refused by its number of tokens,
    what overruns is aborted. SageMaker gives up at 60, so more only helps callers that come another way."""
    allow_amx: bool
    """Use the CPU backend with AMX where the CPU has it. Faster for quantized models, but some compilers build it so
    that the first decode crashes; without it the next best one is used."""
    host: str
    """Address to listen on; the container listens on all."""
    port: int
    """Port to listen on; SageMaker expects 8080."""
    lib_dir: Path | None
    """Folder of llama.cpp's shared libraries; None for those bundled with the installed llama-cpp-python."""
    prompt_profile: str | None = None
    """How decisions are written for the model; None for what its ``decider_config.json`` says, else SemIf's."""
    calibration_path: Path | None = None
    """The calibration, when it is not ``calibration.json`` in ``model_dir``."""
    api_key: str | None = field(default=None, repr=False)
    """The key that callers have to show, None for an endpoint that something else guards: on SageMaker that is IAM,
    and InvokeEndpoint cannot carry a key. Never logged."""
    playground: bool = False
    """Whether ``GET /`` is a page to try decisions on. Off, the container has nothing for a browser."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Settings from ``environment``; a variable that is missing or empty takes its default, 0 is a value.

        Raises:
            SettingsError: one error that lists every variable that is wrong, with what is allowed.
        """
        read = _Reader(environment)
        model_dir = Path(read.text("SEMIF_MODEL_DIR", "/opt/ml/model"))
        settings = cls(
            model_dir=model_dir,
            gguf_path=read.optional_path("SEMIF_GGUF_PATH"),
            tokenizer_source=read.optional_path("SEMIF_TOKENIZER_SOURCE") or model_dir / "tokenizer",
            tokenizer_revision=read.text("SEMIF_TOKENIZER_REVISION", "") or None,
            threads=read.integer("SEMIF_THREADS", available_cpus(), 1, 512, "threads"),
            n_gpu_layers=read.integer("SEMIF_N_GPU_LAYERS", 0, -1, 10_000, "layers (-1: all, 0: none)"),
            max_tokens=read.integer("SEMIF_MAX_TOKENS", 4096, 64, 1_048_576, "tokens"),
            max_request_tokens=read.integer("SEMIF_MAX_REQUEST_TOKENS", 8192, 64, 16_777_216, "tokens"),
            max_shared_decisions=read.integer("SEMIF_MAX_SHARED_DECISIONS", 8, 1, 4096, "decisions"),
            cache_tokens=read.integer("SEMIF_CACHE_TOKENS", 16_384, 0, 16_777_216, "tokens"),
            max_body_bytes=read.integer("SEMIF_MAX_BODY_BYTES", 262_144, 1024, 26_214_400, "bytes"),
            max_in_flight=read.integer("SEMIF_MAX_IN_FLIGHT", 1, 1, 256, "requests"),
            deadline_seconds=read.integer("SEMIF_DEADLINE_SECONDS", 55, 1, 3600, "seconds"),
            allow_amx=read.integer("SEMIF_ALLOW_AMX", 0, 0, 1, "(0: no, 1: yes)") == 1,
            host=read.text("SEMIF_HOST", "0.0.0.0"),
            port=read.integer("SEMIF_PORT", 8080, 1, 65_535, "(a TCP port)"),
            lib_dir=read.optional_path("SEMIF_LLAMA_CPP_LIB_DIR")
            or (BASE_IMAGE_LIBRARIES if BASE_IMAGE_LIBRARIES.is_dir() else None),
            prompt_profile=read.one_of("SEMIF_PROMPT_PROFILE", PROMPT_PROFILES),
            calibration_path=read.optional_path("SEMIF_CALIBRATION_PATH"),
            api_key=read.secret("SEMIF_API_KEY"),
            playground=read.integer("SEMIF_PLAYGROUND", 0, 0, 1, "(0: no, 1: yes)") == 1,
        )
        if read.problems:
            raise SettingsError(read.problems)
        return settings


class _Reader:
    """Reads variables and gathers what is wrong with them instead of stopping at the first."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[str] = []

    def text(self, name: str, default: str) -> str:
        return self._environment.get(name, "").strip() or default

    def optional_path(self, name: str) -> Path | None:
        """The path in ``name``, None when not given; a path that does not exist is a problem."""
        text = self.text(name, "")
        if text and not Path(text).exists():
            self.problems.append(f"{name} is {text!r}: there is no such file or folder; correct it or leave it out")
        return Path(text) if text else None

    def secret(self, name: str) -> str | None:
        """The secret in ``name``, None when not given; one that no header can carry is a problem. Told to nobody."""
        given = self._environment.get(name, "")
        text = given.strip()
        if given and not (text and text.isascii() and text.isprintable() and " " not in text):
            self.problems.append(f"{name} (not shown): must be printable ASCII characters without spaces, or left out")
        return text or None

    def one_of(self, name: str, allowed: Sequence[str]) -> str | None:
        """The text in ``name``, None when not given; one that is not ``allowed`` is a problem."""
        text = self.text(name, "")
        if text and text not in allowed:
            self.problems.append(f"{name} is {text[:40]!r}: must be one of {', '.join(allowed)}, or left out")
        return text or None

    def integer(self, name: str, default: int, low: int, high: int, unit: str) -> int:
        """The integer in ``name``, ``default`` when not given; one outside ``low``..``high`` is a problem."""
        text = self.text(name, "")
        if not text:
            return default
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            self.problems.append(f"{name} is {text[:40]!r}: must be an integer from {low} to {high} {unit}")
            return default
        return value
