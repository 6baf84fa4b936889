"""The two stacks of an environment: artifacts, and the endpoints that serve them."""

from stacks.artifact_stack import ArtifactStack
from stacks.endpoint_stack import EndpointStack

__all__ = ["ArtifactStack", "EndpointStack"]
