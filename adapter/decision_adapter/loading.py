"""Loading the model while the worker already answers."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from decision_adapter import calibration, decider_config, profile
from decision_adapter.artifact import ModelArtifact, open_artifact
from decision_adapter.calibration import Calibration
from decision_adapter.chat_template import from_tokenizer_files
from decision_adapter.errors import LibraryError, LoadingError, StartError
from decision_adapter.llama import library
from decision_adapter.prompt import PROMPT_VERSION
from decision_adapter.scorer import WARM_UP, EngineScorer, Scorer
from decision_adapter.settings import Settings

if TYPE_CHECKING:
    from decision_adapter.llama.engine import LlamaEngine

log = logging.getLogger(__name__)


class BackgroundLoad:
    """A scorer that is being loaded in a thread of its own; ready once it has scored a decision."""

    def __init__(self, load: Callable[[], Scorer], announce: Callable[[], None], refuse: Callable[[str], None]) -> None:
        """Prepare to run ``load``, then ``announce``; when it fails, ``refuse`` gets the sentence that says why."""
        self._load = load
        self._announce = announce
        self._refuse = refuse
        self._scorer: Scorer | None = None
        self._thread = threading.Thread(target=self._run, name="load")

    def start(self) -> "BackgroundLoad":
        """Begin to load."""
        self._thread.start()
        return self

    def join(self, timeout_seconds: float) -> None:
        """Wait until loading has ended, one way or the other."""
        self._thread.join(timeout_seconds)

    @property
    def ready(self) -> bool:
        """Whether a decision can be scored now."""
        return self._scorer is not None

    def scorer(self) -> Scorer:
        """The loaded scorer.

        Raises:
            LoadingError: not yet.
        """
        if self._scorer is None:
            raise LoadingError("the model is loading; try again")
        return self._scorer

    def drain(self, seconds: float) -> None:
        """Let what is being scored run for ``seconds`` more; does not wait."""
        if self._scorer is not None:
            self._scorer.drain(seconds)

    def _run(self) -> None:
        try:
            scorer = self._load()
            scorer.score([WARM_UP])
        except StartError as error:
            self._refuse(str(error))
        except Exception as error:
            log.exception("loading failed")
            self._refuse(f"loading failed: {error}")
        else:
            self._scorer = scorer
            self._announce()
            log.info("ready")
            scorer.examine()


def load_scorer(settings: Settings) -> Scorer:
    """A scorer on the model that ``settings`` name.

    The model's file is read from end to end first, which computes its SHA-256 and brings it into the page cache, from
    where it is mapped.

    Raises:
        StartError: with the sentence an operator needs.
    """
    started = time.perf_counter()
    profile_name, fitted = how_to_read(settings)
    loaded = load_library(settings)
    artifact = open_artifact(settings.model_dir, settings.gguf_path, settings.tokenizer_revision)
    engine = load_engine(settings, artifact.gguf)
    model = identity(artifact, settings, loaded)
    layouts = profile.build(profile_name, engine)
    fields = {
        "seconds": round(time.perf_counter() - started, 3),
        "max_tokens": engine.max_tokens,
        "gpus": list(loaded.gpus),
        "gpu_layers_offloaded": offloaded(settings.n_gpu_layers, engine.layers),
        "model": model,
    }
    log.info("model loaded", extra={"fields": fields})
    log.info("prompt profile", extra={"fields": {"calibration": fitted and fitted.id, "profiles": layouts.metadata()}})
    return EngineScorer(
        engine,
        model,
        settings.max_request_tokens,
        settings.max_in_flight,
        settings.deadline_seconds,
        profile=layouts,
        calibration=fitted,
    )


def load_library(settings: Settings) -> library.Library:
    """llama.cpp's libraries, which have a device for the layers that ``settings`` put on one.

    Raises:
        LibraryError: they cannot be used, or there is no GPU.
    """
    loaded = library.load(settings.lib_dir, settings.allow_amx)
    if settings.n_gpu_layers != 0 and not loaded.gpus:
        raise LibraryError(
            f"SEMIF_N_GPU_LAYERS is {settings.n_gpu_layers}, but llama.cpp finds no GPU; its backends are "
            f"{', '.join(loaded.backends)}. Use a GPU instance with the CUDA image, or set it to 0"
        )
    return loaded


def load_engine(settings: Settings, gguf: Path) -> "LlamaEngine":
    """The engine on ``gguf``; after ``load_library``.

    Raises:
        StartError: llama.cpp cannot load it, or it cannot answer.
    """
    # Importing the engine imports the binding, which has to find the library that was chosen before.
    from decision_adapter.llama.engine import LlamaEngine  # noqa: PLC0415

    template = from_tokenizer_files(settings.tokenizer_source)
    return LlamaEngine(
        gguf,
        template,
        settings.max_tokens,
        settings.threads,
        settings.n_gpu_layers,
        cache_tokens=settings.cache_tokens,
    )


def offloaded(n_gpu_layers: int, layers: int) -> str:
    """How many of a model's ``layers`` and its output layer are on a GPU, as in "25 of 25"."""
    total = layers + 1
    return f"{total if n_gpu_layers < 0 else min(n_gpu_layers, total)} of {total}"


def how_to_read(settings: Settings) -> tuple[str, Calibration | None]:
    """The prompt profile's name and the calibration: what the settings say, else the files in the archive.

    The temperatures of a ``decider_config.json`` belong to its own prompt profile and go with no other.

    Raises:
        StartError: one of the files is not what it should be.
    """
    decider = decider_config.read(settings.model_dir)
    name = settings.prompt_profile or (decider.profile if decider else PROMPT_VERSION)
    fitted = calibration.find(settings.model_dir, settings.calibration_path)
    if fitted is None and decider is not None and name == decider.profile:
        fitted = calibration.of_decider(decider)
    return name, fitted


def identity(artifact: ModelArtifact, settings: Settings, loaded: library.Library) -> dict[str, object]:
    """What produced a result, but for the prompt profile and the calibration: model, library and devices."""
    return {
        "gguf": artifact.source.model_dump(),
        "tokenizer": artifact.tokenizer.model_dump(),
        "llama_cpp": {"build": loaded.build, "binding_version": loaded.binding_version},
        "backends": list(loaded.backends),
        "gpu_layers": settings.n_gpu_layers,
        "threads": settings.threads,
    }
