"""Whether a model fits into the GPUs of the instances it is to run on."""

from collections.abc import Iterator

from decision_constructs.instance_type import InstanceType
from decision_constructs.model_settings import Model
from decision_constructs.settings import ChatEndpoint, DecisionEndpoint, Endpoint

_BESIDE_BYTES = 2**30
"""CUDA's own context and llama.cpp's compute buffers: most models take less."""


def warnings(model: Model, endpoint: Endpoint) -> Iterator[str]:
    """A sentence for each instance type whose GPUs cannot hold the file, the cache of one context, and 1 GiB beside.

    None where it cannot be told: the settings do not say the model's size, some layers stay on the CPU, or the type is
    newer than the table of GPUs.
    """
    if model.size_bytes is None or endpoint.gpu_layers_or_default != -1:
        return
    cache_bytes = _context_tokens(endpoint) * model.cache_bytes_per_token
    needed_bytes = model.size_bytes + cache_bytes + _BESIDE_BYTES
    for instance_type in map(InstanceType.parse, endpoint.instance_types):
        has_bytes = instance_type.gpu_memory_bytes
        if has_bytes is not None and has_bytes < needed_bytes:
            yield (
                f"{instance_type.name} has {_gib(has_bytes)} of GPU memory; the model takes {_gib(model.size_bytes)}, "
                f"the cache of {_context_tokens(endpoint)} tokens {_gib(cache_bytes)}, and 1.0 GiB goes to buffers. "
                "Choose a bigger type, a smaller context, or set gpu_layers"
            )


def _context_tokens(endpoint: Endpoint) -> int:
    match endpoint:
        case ChatEndpoint():
            return endpoint.context_tokens
        case DecisionEndpoint():
            return endpoint.max_tokens
        case _:
            raise TypeError(f"no contract: {type(endpoint).__name__}")


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
