"""A container image pinned by digest, and the registry it lies in."""

import re
from typing import NamedTuple, Self

PUBLIC_REGISTRY = "public.ecr.aws"
_PRIVATE_REGISTRY = re.compile(r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[a-z.]+")


class EcrRegistry(NamedTuple):
    """A private registry of Amazon ECR."""

    account: str
    region: str


class PinnedImage(NamedTuple):
    """`registry/repository@sha256:…`, taken apart."""

    registry: str
    repository: str
    digest: str

    @classmethod
    def parse(cls, reference: str) -> Self:
        """Take a reference apart that the settings have checked."""
        name, _, digest = reference.partition("@")
        registry, _, repository = name.partition("/")
        return cls(registry, repository, digest)

    def __str__(self) -> str:
        """The reference."""
        return f"{self.registry}/{self.repository}@{self.digest}"

    @property
    def ecr(self) -> EcrRegistry | None:
        """The private registry of ECR that it lies in; None when it lies elsewhere, as in ECR Public."""
        match = _PRIVATE_REGISTRY.fullmatch(self.registry)
        return EcrRegistry(match["account"], match["region"]) if match else None
