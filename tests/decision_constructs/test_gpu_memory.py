"""When a model does not fit into the GPUs, by numbers."""

from decision_constructs.gpu_memory import warnings
from decision_constructs.model_settings import Model
from decision_constructs.settings import ChatEndpoint, DecisionEndpoint

GIB = 2**30


def model(size_bytes: int | None, cache_bytes_per_token: int = 2**17) -> Model:
    return Model(
        uri="s3://models/a.gguf", sha256="0" * 64, size_bytes=size_bytes, cache_bytes_per_token=cache_bytes_per_token
    )


def test_each_pool_that_is_too_small_is_told_with_what_it_has_and_what_is_needed() -> None:
    # 20 GiB of file, 8192 tokens of 2^17 bytes are 1 GiB, 1 GiB beside: 22 GiB
    decision = DecisionEndpoint(instance_pools=("ml.g6e.xlarge", "ml.g5.xlarge", "ml.g4dn.xlarge"), max_tokens=8192)
    (told,) = warnings(model(20 * GIB), decision)
    assert told == (
        "ml.g4dn.xlarge has 16.0 GiB of GPU memory; the model takes 20.0 GiB, the cache of 8192 tokens 1.0 GiB, "
        "and 1.0 GiB goes to buffers. Choose a bigger type, a smaller context, or set gpu_layers"
    )


def test_what_fits_to_the_byte_is_not_told() -> None:
    # 24 GiB: 22 + 1 + 1
    decision = DecisionEndpoint(instance_type="ml.g5.xlarge", max_tokens=8192)
    assert list(warnings(model(22 * GIB), decision)) == []
    assert len(list(warnings(model(22 * GIB + 1), decision))) == 1


def test_a_chat_s_cache_has_its_whole_context() -> None:
    # 10 + 131072 tokens of 2^17 bytes, which is 16 GiB, + 1
    chat = ChatEndpoint(instance_type="ml.g5.xlarge", context_tokens=131_072)
    (told,) = warnings(model(10 * GIB), chat)
    assert "the cache of 131072 tokens 16.0 GiB" in told


def test_nothing_is_told_where_it_cannot_be_known() -> None:
    huge = model(2000 * GIB)
    small = DecisionEndpoint(instance_type="ml.g4dn.xlarge")
    assert list(warnings(model(None), small)) == []
    assert list(warnings(huge, DecisionEndpoint(instance_type="ml.g4dn.xlarge", gpu_layers=8))) == []
    assert list(warnings(huge, DecisionEndpoint(instance_type="ml.c6i.large"))) == []
    assert list(warnings(huge, DecisionEndpoint(instance_type="ml.p6-b200.48xlarge"))) == []
