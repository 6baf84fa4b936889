"""Instances of a variant: who gets a request, and what becomes of requests when instances leave or die."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from local_cloud.errors import ContainerError
from local_cloud.running_variant import RunningVariant

LEAST = {"VariantName": "v", "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}}


class StubContainer:
    """A container that ends when it is told to, or by itself."""

    log = SimpleNamespace(path=Path("v.log"))

    def __init__(self) -> None:
        self.ended = threading.Event()

    def wait_until_ended(self) -> int:
        self.ended.wait()
        return 9

    def stop(self) -> None:
        self.ended.set()


def variant(count: int, **options) -> RunningVariant:
    made = RunningVariant({**LEAST, **options}, "image", StubContainer)
    made.scale(count)
    return made


def test_a_request_goes_to_an_instance_with_the_fewest_under_way():
    three = variant(3)

    first = [three.acquire() for _ in range(6)]

    assert sorted(first.count(one) for one in set(first)) == [2, 2, 2]
    assert three.outstanding == 6
    three.release(first[0])
    assert three.acquire() is first[0]


def test_an_instance_that_leaves_ends_when_its_requests_are_answered():
    two = variant(2)
    busy = two.acquire()
    other = two.acquire()
    two.release(other)
    two.release(busy)
    held = [two.acquire(), two.acquire()]

    leaving = threading.Thread(target=two.scale, args=(1,))
    leaving.start()
    while two.instance_count == 2:
        leaving.join(0.01)
    stays = two.acquire()
    goes = next(one for one in held if one is not stays)
    assert not goes.ended.is_set()

    two.release(goes)
    leaving.join()
    assert goes.ended.is_set()
    assert not stays.ended.is_set()


def test_idle_instances_leave_first():
    three = variant(3)
    busy = three.acquire()

    three.scale(1)

    assert not busy.ended.is_set()
    assert three.instance_count == 1


def test_an_instance_that_dies_is_replaced(eventually):
    one = variant(1)
    dead = one.acquire()
    one.release(dead)

    dead.ended.set()

    replaced = eventually(lambda: (found := one.acquire()) is not None and found is not dead)
    assert replaced
    assert one.last_failure == "the container ended with status 9; see v.log"


def test_instances_that_do_not_start_leave_the_variant_as_it_was():
    starts = iter([StubContainer(), StubContainer(), None])

    def start() -> StubContainer:
        container = next(starts)
        if container is None:
            raise ContainerError("not healthy")
        return container

    one = RunningVariant(LEAST, "image", start)
    one.scale(1)

    with pytest.raises(ContainerError, match="not healthy"):
        one.scale(3)

    assert (one.instance_count, one.desired_count) == (1, 1)
