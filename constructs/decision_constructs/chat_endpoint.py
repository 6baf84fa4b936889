"""The chat contract: the published llama.cpp container, unchanged."""

from typing import Any

from constructs import Construct

from decision_constructs.endpoint import SageMakerEndpoint
from decision_constructs.settings import ChatEndpoint as ChatSettings


class ChatEndpoint(SageMakerEndpoint):
    """OpenAI Chat Completions through InvokeEndpoint. The container turns `SM_LLAMA_CPP_<NAME>` into `--<name>`."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: ChatSettings, **endpoint: Any) -> None:
        super().__init__(
            scope,
            construct_id,
            settings=settings,
            container_environment=_environment(settings),
            network_isolation=False,
            **endpoint,
        )


def _environment(settings: ChatSettings) -> dict[str, str]:
    options: dict[str, str] = {
        "ctx-size": str(settings.context_tokens),
        "n-gpu-layers": "999" if settings.gpu_layers_or_default < 0 else str(settings.gpu_layers_or_default),
        **({"threads": str(settings.threads)} if settings.threads else {}),
        **settings.arguments,
    }
    return {f"SM_LLAMA_CPP_{name.upper().replace('-', '_')}": value for name, value in options.items()}
