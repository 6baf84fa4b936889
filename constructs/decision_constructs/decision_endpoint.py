"""The decision contract: our adapter in the child image."""

from typing import Any

from constructs import Construct

from decision_constructs.endpoint import SageMakerEndpoint
from decision_constructs.settings import DecisionEndpoint as DecisionSettings


class DecisionEndpoint(SageMakerEndpoint):
    """Probabilities over the options of a decision."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: DecisionSettings, **endpoint: Any) -> None:
        super().__init__(
            scope,
            construct_id,
            settings=settings,
            container_environment=decision_environment(settings),
            network_isolation=True,
            **endpoint,
        )


def decision_environment(settings: DecisionSettings) -> dict[str, str]:
    """What the adapter reads."""
    return {
        "SEMIF_N_GPU_LAYERS": str(settings.gpu_layers_or_default),
        **({"SEMIF_THREADS": str(settings.threads)} if settings.threads else {}),
        "SEMIF_MAX_TOKENS": str(settings.max_tokens),
        "SEMIF_MAX_REQUEST_TOKENS": str(settings.max_request_tokens),
        "SEMIF_MAX_SHARED_DECISIONS": str(settings.max_shared_decisions),
        "SEMIF_CACHE_TOKENS": str(settings.cache_tokens),
        "SEMIF_MAX_BODY_BYTES": str(settings.max_body_bytes),
        "SEMIF_MAX_IN_FLIGHT": str(settings.max_in_flight),
    }
