"""What ``GET /metrics`` says, in Prometheus' text format. Counters start at 0 with the process."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

REGISTRY = CollectorRegistry()
"""Ours alone: prometheus_client's default one also counts Python's garbage collections."""

REQUESTS = Counter(
    "decision_requests", "Requests answered, by outcome: ok or the error.", ["outcome"], registry=REGISTRY
)
QUEUE_DEPTH = Gauge("decision_queue_depth", "Requests with a place: one is scored, the others wait.", registry=REGISTRY)
LATENCY = Histogram(
    "decision_request_seconds",
    "Seconds from the end of a request's headers to its answer.",
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60),
    registry=REGISTRY,
)
PROMPT_TOKENS = Counter("decision_prompt_tokens", "Tokens of the prompts scored.", registry=REGISTRY)
REUSED_TOKENS = Counter("decision_reused_tokens", "Those of them found in memory, not decoded.", registry=REGISTRY)

# Resident and virtual memory, CPU seconds, open files: process_resident_memory_bytes and its like.
ProcessCollector(registry=REGISTRY)


def text() -> bytes:
    """All metrics as they are now."""
    return generate_latest(REGISTRY)
