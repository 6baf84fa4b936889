"""Requests and answers kept in S3, as SageMaker writes them."""

from urllib.parse import urlsplit

from aws_cdk import Aws
from aws_cdk import aws_sagemaker as sagemaker

from decision_constructs.execution_role import ExecutionRole
from decision_constructs.security_settings import DataCapture as DataCaptureSettings
from decision_constructs.served_environment import ServedEnvironment
from decision_constructs.storage import CAPTURE_PREFIX


class DataCapture:
    """What an endpoint config says about data capture, and the right to write where it goes."""

    def __init__(self, settings: DataCaptureSettings | None, contract: str, environment: ServedEnvironment) -> None:
        self._settings = settings
        self._encryption_key = environment.encryption_key
        self._bucket = environment.bucket.bucket_name if environment.bucket else ""
        self._prefix = f"{CAPTURE_PREFIX}{contract}"
        if settings and settings.uri:
            uri = urlsplit(settings.uri)
            self._bucket, self._prefix = uri.netloc, uri.path.strip("/")

    @property
    def config(self) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None:
        """Both requests and answers, as JSON; None when nothing is captured."""
        if self._settings is None:
            return None
        config = sagemaker.CfnEndpointConfig
        return config.DataCaptureConfigProperty(
            enable_capture=True,
            initial_sampling_percentage=self._settings.percentage,
            destination_s3_uri="/".join(filter(None, [f"s3://{self._bucket}", self._prefix])),
            kms_key_id=self._encryption_key.key_arn if self._encryption_key else None,
            capture_options=[config.CaptureOptionProperty(capture_mode=mode) for mode in ("Input", "Output")],
            capture_content_type_header=config.CaptureContentTypeHeaderProperty(
                json_content_types=["application/json"]
            ),
        )

    def allow(self, role: ExecutionRole) -> None:
        """Let the role write below the destination."""
        if self._settings:
            role.allow(
                ["s3:PutObject"],
                "/".join(filter(None, [f"arn:{Aws.PARTITION}:s3:::{self._bucket}", self._prefix, "*"])),
                wildcard="SageMaker names each file by endpoint, variant and time.",
            )
