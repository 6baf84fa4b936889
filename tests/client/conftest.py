"""The adapter as a process, as its own tests start it."""

from tests.adapter.conftest import start_container

__all__ = ["start_container"]
