"""Which number of threads is best, as far as measured endpoints can tell."""

from collections.abc import Sequence

from decide.benchmark.figures import Measured


def recommendation(measured: Sequence[Measured]) -> str:
    """A sentence: the number of threads to take, or why it cannot be told."""
    on_cpu = [one for one in measured if one.figures and one.model.threads and not one.model.gpu_layers]
    if not on_cpu:
        why = "no endpoint that was measured says its threads and scores on the CPU"
        return f"threads: cannot be told: {why}; with all layers on a GPU they matter little"
    files = {one.model.gguf.sha256 if one.model.gguf else "" for one in on_cpu}
    if len(files) > 1:
        return "threads: cannot be told: the endpoints have different models, so their times say nothing about threads"
    threads = {one.model.threads for one in on_cpu}
    if len(threads) == 1:
        return (
            f"threads: cannot be told from one number ({threads.pop()}): no endpoint changes its threads while it "
            "runs; deploy another with other `threads`, on the same instance type, and name both"
        )
    instances = {one.instance.partition(" × ")[2] for one in on_cpu}
    if len(instances) > 1:
        return "threads: cannot be told: the endpoints are on different instance types; compare them on the same"
    ordered = sorted(on_cpu, key=_forward)
    best, *others = ordered
    beside = ", ".join(f"{one.model.threads} took {_forward(one) * 1000:.0f} ms" for one in others)
    unknown = "" if instances != {""} else "; whether they are on the same kind of machine is for you to know"
    return f"threads: take {best.model.threads}: {_forward(best) * 1000:.0f} ms in the model, {beside}{unknown}"


def _forward(measured: Measured) -> float:
    """Seconds in the model at the first level, where the fewest callers are."""
    return measured.figures[0].forward_p50_seconds
