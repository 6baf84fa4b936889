"""Named records of one kind, and their tags."""

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from local_cloud.cloud import ACCOUNT_ID, REGION
from local_cloud.errors import ValidationError

Record = dict[str, Any]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Kind:
    """How SageMaker names a kind of resource: `EndpointConfig`, in sentences and in ARNs."""

    name: str
    label: str
    arn_type: str

    def arn(self, name: str) -> str:
        """The ARN of a resource; SageMaker writes names in lower case there."""
        return f"arn:aws:sagemaker:{REGION}:{ACCOUNT_ID}:{self.arn_type}/{name.lower()}"


MODEL = Kind("Model", "model", "model")
ENDPOINT_CONFIG = Kind("EndpointConfig", "endpoint configuration", "endpoint-config")
ENDPOINT = Kind("Endpoint", "endpoint", "endpoint")
TRANSFORM_JOB = Kind("TransformJob", "transform job", "transform-job")


class Table(Generic[Item]):
    """Resources of one kind by name; safe to use from several threads."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._items: dict[str, Item] = {}
        self._lock = threading.Lock()

    def add(self, name: str, item: Item) -> None:
        """Add a new one.

        Raises:
            ValidationError: the name is taken.
        """
        with self._lock:
            if name in self._items:
                raise ValidationError(f'Cannot create already existing {self.kind.label} "{self.kind.arn(name)}".')
            self._items[name] = item

    def get(self, name: str) -> Item:
        """The one with a name.

        Raises:
            ValidationError: there is none.
        """
        with self._lock:
            if name not in self._items:
                raise ValidationError(f'Could not find {self.kind.label} "{self.kind.arn(name)}".')
            return self._items[name]

    def find_name(self, arn: str) -> str | None:
        """The name that an ARN stands for."""
        with self._lock:
            return next((name for name in self._items if self.kind.arn(name) == arn), None)

    def remove(self, name: str) -> None:
        """Take one out.

        Raises:
            ValidationError: there is none.
        """
        self.get(name)
        with self._lock:
            self._items.pop(name, None)

    def items(self) -> list[Item]:
        """All of them."""
        with self._lock:
            return list(self._items.values())


@dataclass
class Tags:
    """Tags by ARN."""

    _tags: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, arn: str, tags: Iterable[Mapping[str, str]]) -> None:
        """Add tags, or give those there a new value."""
        self._tags.setdefault(arn, {}).update({tag["Key"]: tag["Value"] for tag in tags})

    def remove(self, arn: str, keys: Iterable[str] | None = None) -> None:
        """Remove the tags named, or all."""
        if keys is None:
            self._tags.pop(arn, None)
            return
        for key in keys:
            self._tags.get(arn, {}).pop(key, None)

    def list(self, arn: str) -> "list[dict[str, str]]":
        """The tags of a resource."""
        return [{"Key": key, "Value": value} for key, value in self._tags.get(arn, {}).items()]


def page(records: list[Record], kind: Kind, parameters: Mapping[str, Any]) -> tuple[list[Record], dict[str, str]]:
    """The records a List call asks for, newest first, and the NextToken when there are more."""
    wanted = parameters.get("NameContains", "").lower()
    found = [record for record in records if wanted in record[f"{kind.name}Name"].lower()]
    if "StatusEquals" in parameters:
        found = [record for record in found if record.get(f"{kind.name}Status") == parameters["StatusEquals"]]
    newest_first = parameters.get("SortOrder", "Descending") == "Descending"
    by_name = parameters.get("SortBy") == "Name"
    found.sort(key=lambda record: record[f"{kind.name}Name" if by_name else "CreationTime"], reverse=newest_first)
    first = int(parameters.get("NextToken", "0"))
    last = first + int(parameters.get("MaxResults", 100))
    return found[first:last], {"NextToken": str(last)} if last < len(found) else {}


def now() -> float:
    """The time as the JSON protocol carries it: seconds since 1970."""
    return round(time.time(), 3)
