"""An endpoint of SageMaker's, through boto3; with AWS_ENDPOINT_URL set, one of the local cloud's."""

from contextlib import closing
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from decision_client.aws_errors import told_as_ours
from decision_client.settings import ClientSettings
from decision_client.transport import CONTENT_TYPE

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient


class SageMakerTransport:
    """Invokes one endpoint. Asking again is left to the client: botocore's own retries are off."""

    def __init__(self, endpoint_name: str, session: boto3.Session, settings: ClientSettings) -> None:
        """Prepare; nothing is sent.

        Raises:
            ConfigurationError: boto3 knows no region.
        """
        self._endpoint_name = endpoint_name
        config = Config(
            connect_timeout=settings.connect_seconds,
            read_timeout=settings.read_seconds,
            max_pool_connections=settings.connections,
            retries={"total_max_attempts": 1, "mode": "standard"},
        )
        with told_as_ours():
            self._runtime: SageMakerRuntimeClient = session.client("sagemaker-runtime", config=config)

    def send(self, body: bytes) -> bytes:
        """The body of the container's answer, see `Transport.send`."""
        with told_as_ours():
            answer = self._runtime.invoke_endpoint(
                EndpointName=self._endpoint_name, ContentType=CONTENT_TYPE, Accept=CONTENT_TYPE, Body=body
            )
            return answer["Body"].read()

    def close(self) -> None:
        """Close boto3's connections."""
        self._runtime.close()


def default_session() -> boto3.Session:
    """A session with the credentials, profile and region of this process's environment.

    Raises:
        ConfigurationError: AWS_PROFILE names a profile that does not exist.
    """
    with told_as_ours():
        return boto3.Session()


def endpoint_name(
    environment: str, session: boto3.Session, settings: ClientSettings, contract: str = "decision"
) -> str:
    """The endpoint of a ``contract`` that an ``environment`` deployed, from the parameter that the deployment wrote.

    Raises:
        NotFoundError: there is no such parameter in the account and region.
        EndpointError, ConfigurationError: AWS could not be asked.
    """
    config = Config(connect_timeout=settings.connect_seconds, retries={"mode": "standard"})
    with told_as_ours(), closing(session.client("ssm", config=config)) as ssm:
        found = ssm.get_parameter(Name=f"/decision-endpoints/{environment}/{contract}/endpoint-name")
        return found["Parameter"]["Value"]
