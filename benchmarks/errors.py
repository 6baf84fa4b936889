"""What ends a run."""


class BenchmarkError(RuntimeError):
    """Something failed or disagrees, so that a number would mean nothing; the message says which."""
