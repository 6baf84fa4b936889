"""A production variant that serves: its instances, who gets the next request, and how their number changes.

One container stands for one instance. A request holds its container until it is answered, and a container that leaves
takes no new request and ends only when those it holds are answered: nothing is cut by an update or a scale-in. A
container that dies is replaced, as SageMaker replaces one.
"""

import collections
import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local_cloud.container import Container
from local_cloud.errors import LocalCloudError

# A request may take 60 s; what is not answered by then never will be.
DRAIN_TIMEOUT_SECONDS = 65.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_log = logging.getLogger(__name__)


class RunningVariant:
    """The instances of one production variant. Safe to use from several threads."""

    def __init__(self, variant: Mapping[str, Any], image: str, start: Callable[[], Container]) -> None:
        """Describe it; `scale` starts the first instances.

        Args:
            variant: as the endpoint configuration has it.
            image: what its model runs.
            start: returns a healthy container, or raises.
        """
        self.name: str = variant["VariantName"]
        self.weight: float = variant.get("InitialVariantWeight", 1.0)
        self.desired_count = 0
        self.image = image
        self.last_failure = ""
        routing = variant.get("RoutingConfig", {}).get("RoutingStrategy", "RANDOM")
        self._least_outstanding = routing == "LEAST_OUTSTANDING_REQUESTS"
        self._start = start
        self._changed = threading.Condition()
        self._outstanding: collections.Counter[Container] = collections.Counter()
        self._taking: list[Container] = []

    @property
    def instance_count(self) -> int:
        """How many instances take requests."""
        return len(self._taking)

    @property
    def outstanding(self) -> int:
        """How many requests are under way."""
        with self._changed:
            return self._outstanding.total()

    @property
    def log_paths(self) -> list[str]:
        """The log files of its instances."""
        return [str(container.log.path) for container in self._taking]

    def acquire(self) -> Container | None:
        """The container for a request, by the variant's routing strategy; give it back with `release`.

        None when none runs: the last one died, and another is being started.
        """
        with self._changed:
            if not self._taking:
                return None
            candidates = self._taking
            if self._least_outstanding:
                fewest = min(self._outstanding[container] for container in candidates)
                candidates = [one for one in candidates if self._outstanding[one] == fewest]
            chosen = random.choice(candidates)
            self._outstanding[chosen] += 1
            return chosen

    def release(self, container: Container) -> None:
        """Tell that a request has been answered."""
        with self._changed:
            self._outstanding[container] -= 1
            if not self._outstanding[container]:
                del self._outstanding[container]
            self._changed.notify_all()

    def scale(self, count: int) -> None:
        """Bring it to `count` instances and return when that is so.

        Raises:
            LocalCloudError: a new one was not healthy; there are as many as before.
        """
        with self._changed:
            before, self.desired_count = self.desired_count, count
            missing = count - len(self._taking)
            by_load = sorted(self._taking, key=lambda one: self._outstanding[one])
            leaving = by_load[: max(0, -missing)]
            self._taking = [one for one in self._taking if one not in leaving]
        self._end(leaving)
        try:
            self._add(missing)
        except BaseException:
            self.desired_count = before
            raise

    def stop(self) -> None:
        """End all instances, each when its requests are answered."""
        self.scale(0)

    def _add(self, count: int) -> None:
        if count <= 0:
            return
        with ThreadPoolExecutor(count) as pool:
            starting = [pool.submit(self._start) for _ in range(count)]
        failures = [error for one in starting if (error := one.exception()) is not None]
        started = [one.result() for one in starting if one.exception() is None]
        if failures:
            _stop_all(started)
            raise failures[0]
        for container in started:
            self._take(container)

    def _take(self, container: Container) -> None:
        with self._changed:
            self._taking.append(container)
        threading.Thread(
            target=self._replace_when_dead, args=(container,), name=f"watch-{self.name}", daemon=True
        ).start()

    def _end(self, leaving: Sequence[Container]) -> None:
        """End containers that take no new requests."""

        def answered() -> bool:
            return not any(self._outstanding[container] for container in leaving)

        with self._changed:
            self._changed.wait_for(answered, DRAIN_TIMEOUT_SECONDS)
        _stop_all(leaving)

    def _replace_when_dead(self, container: Container) -> None:
        status = container.wait_until_ended()
        with self._changed:
            if container not in self._taking:
                return  # it was ended
            self._taking.remove(container)
            self.last_failure = f"the container ended with status {status}; see {container.log.path}"
        _log.warning("variant %s: %s", self.name, self.last_failure)
        pause_seconds = _FIRST_PAUSE_SECONDS
        while self._is_short():
            try:
                replacement = self._start()
            except LocalCloudError as error:
                self.last_failure = str(error)
                with self._changed:
                    self._changed.wait_for(lambda: self.desired_count == 0, pause_seconds)
                pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
                continue
            if self._is_short():
                self._take(replacement)
            else:
                replacement.stop()

    def _is_short(self) -> bool:
        with self._changed:
            return len(self._taking) < self.desired_count


def _stop_all(containers: Sequence[Container]) -> None:
    if containers:
        with ThreadPoolExecutor(len(containers)) as pool:
            list(pool.map(lambda container: container.stop(), containers))
