"""Everything that can go wrong in the local cloud, and how it is told.

LocalCloudError                     a sentence for the person at the keyboard
├── AlreadyRunningError             a second start in one clone
├── StartError                      the cloud ended before it was ready
├── ArchiveError                    a model archive that cannot be fetched or extracted safely
├── ImageError                      an image that was not built here, or may not be built
├── DeploymentError                 the CDK command failed
├── ContainerError                  a container that ended or was never healthy: the FailureReason of an endpoint
├── DeploymentRolledBackError       an update that an alarm ended: the FailureReason of an endpoint
├── TransformError                  a batch transform job that cannot go on: its FailureReason
├── BuildspecError                  a buildspec CodeBuild would refuse, or that needs what the local cloud lacks
└── ApiError                        an answer of an AWS API: code, HTTP status, message, further fields
    ├── ValidationError             400 ValidationException
    ├── ObjectNotFoundError         400 ObjectNotFoundException (Application Auto Scaling)
    ├── ResourceNotFoundError       400 ResourceNotFoundException (CodeBuild)
    ├── InvalidInputError           400 InvalidInputException (CodeBuild)
    ├── ImageNotFoundError          400 ImageNotFoundException (ECR)
    ├── UnknownOperationError       400 UnknownOperationException
    ├── EndpointUnavailableError    400 ValidationError (SageMaker Runtime)
    ├── PayloadTooLargeError        413 ValidationError (SageMaker Runtime)
    └── ModelError                  424 ModelError (SageMaker Runtime), with OriginalStatusCode and OriginalMessage
"""

from collections.abc import Mapping
from typing import ClassVar


class LocalCloudError(Exception):
    """A sentence that says what is wrong, where, and what to do."""


class AlreadyRunningError(LocalCloudError):
    """This clone's cloud runs already."""


class StartError(LocalCloudError):
    """The cloud ended, or was not ready in time."""


class ArchiveError(LocalCloudError):
    """A model archive is missing, not a tar, or would write outside its directory."""


class ImageError(LocalCloudError):
    """No such image content, or a build that is not pinned."""


class DeploymentError(LocalCloudError):
    """The CDK command failed."""


class ContainerError(LocalCloudError):
    """A container ended before it was healthy, or was not healthy in time."""


class DeploymentRolledBackError(LocalCloudError):
    """An alarm went off while an update baked."""


class TransformError(LocalCloudError):
    """A batch transform job met a record that its container refused, or an input that cannot be read."""


class BuildspecError(LocalCloudError):
    """A buildspec that cannot be run."""


class ApiError(LocalCloudError):
    """What an AWS API answers when it refuses."""

    code: ClassVar[str]
    http_status: ClassVar[int] = 400

    def __init__(self, message: str, fields: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fields = dict(fields or {})


class ValidationError(ApiError):
    """A parameter is missing, malformed, or names something that does not exist."""

    code = "ValidationException"


class ObjectNotFoundError(ApiError):
    """No such scalable target or policy."""

    code = "ObjectNotFoundException"


class ResourceNotFoundError(ApiError):
    """No such project or build."""

    code = "ResourceNotFoundException"


class InvalidInputError(ApiError):
    """A build's input is malformed."""

    code = "InvalidInputException"


class ImageNotFoundError(ApiError):
    """No such image in the repository."""

    code = "ImageNotFoundException"


class UnknownOperationError(ApiError):
    """The local cloud does not have the operation."""

    code = "UnknownOperationException"


class EndpointUnavailableError(ApiError):
    """The endpoint is missing or not in service."""

    code = "ValidationError"


class PayloadTooLargeError(ApiError):
    """The body is over the platform's limit."""

    code = "ValidationError"
    http_status = 413


class ModelError(ApiError):
    """The container answered with an error, or not at all."""

    code = "ModelError"
    http_status = 424
