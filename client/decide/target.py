"""Which endpoint a command asks: an environment's, one of SageMaker's by name, or one behind a URL."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import boto3

from decide import local
from decide.errors import UsageError
from decision_client import ClientSettings, DecisionClient, NotFoundError
from decision_client.aws_errors import told_as_ours
from decision_client.http_transport import HttpTransport, checked
from decision_client.sagemaker_transport import SageMakerTransport, endpoint_name
from decision_client.transport import Transport

Contract = Literal["decision", "chat"]

VARIABLES = {"environment": "DECIDE_ENV", "endpoint": "DECIDE_ENDPOINT", "url": "DECIDE_URL"}
"""Where a name is taken from when the command line has none."""
API_KEY_VARIABLE = "DECIDE_API_KEY"
_HOW = "say which endpoint: --env NAME, --endpoint NAME or --url URL, or set DECIDE_ENV, DECIDE_ENDPOINT or DECIDE_URL"


@dataclass(frozen=True)
class Target:
    """One endpoint, as it was named: exactly one of `environment`, `endpoint` and `url` is there."""

    environment: str | None = None
    endpoint: str | None = None
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    region: str | None = None
    profile: str | None = None

    def __post_init__(self) -> None:
        """Check the URL here, before it stands in any file or message.

        Raises:
            ConfigurationError: it is not one of HTTP, or has a password in it.
        """
        if self.url is not None:
            checked(self.url)

    def __str__(self) -> str:
        return self.environment or self.endpoint or self.url or "nothing"

    def client(self, settings: ClientSettings) -> DecisionClient:
        """A typed client of the decision contract; close it.

        Raises:
            DecisionClientError, DecideError: see `transport`.
        """
        return DecisionClient(self.transport(settings), settings)

    def transport(self, settings: ClientSettings) -> Transport:
        """What carries bodies of any contract to the decision endpoint, one at a time, each once; close it.

        Raises:
            NotFoundError: the environment has no such endpoint.
            EndpointError, ConfigurationError: AWS could not be asked.
            UsageError: no region is known, or there is no such profile.
            DecideError: the local cloud does not run.
        """
        if self.url is not None:
            return HttpTransport(self.url, self.api_key, settings)
        session = self.session()
        return SageMakerTransport(self.endpoint_name(session, settings), session, settings)

    def endpoint_name(self, session: boto3.Session, settings: ClientSettings, contract: Contract = "decision") -> str:
        """The name that SageMaker knows; looked up when an environment was named.

        Raises:
            NotFoundError: the environment has no endpoint of this ``contract``.
            EndpointError, ConfigurationError: AWS could not be asked.
            UsageError: a URL was named, behind which there need not be SageMaker.
        """
        if self.endpoint is not None:
            return self.endpoint
        if self.environment is None:
            raise UsageError("this needs an endpoint of SageMaker's: say --env or --endpoint, not --url")
        try:
            return endpoint_name(self.environment, session, settings, contract)
        except NotFoundError as error:
            sentence = f"environment {self.environment} has no {contract} endpoint in {session.region_name}: {error}"
            raise NotFoundError(sentence, status=error.status) from error

    def session(self) -> boto3.Session:
        """The account and region that are asked; those of the local cloud for its environment `local`, unless this
        shell is pointed somewhere else (AWS_ENDPOINT_URL, --profile).

        Raises:
            UsageError: no region is known, or there is no such profile.
            DecideError: the local cloud does not run.
        """
        elsewhere = self.profile is not None or os.environ.get("AWS_ENDPOINT_URL")
        if self.environment == local.ENVIRONMENT and not elsewhere:
            return local.LocalSession(local.port(Path.cwd()), self.region)
        with told_as_ours():
            session = boto3.Session(profile_name=self.profile, region_name=self.region)
        if session.region_name is None:
            raise UsageError("no region is known: say --region, as in --region us-east-1, or set AWS_DEFAULT_REGION")
        return session


def choose(
    *,
    environment: str | None,
    endpoint: str | None,
    url: str | None,
    api_key: str | None,
    region: str | None,
    profile: str | None,
    variables: Mapping[str, str],
) -> Target:
    """The target that the options name; where they name none, the one that ``variables`` name.

    Raises:
        UsageError: there is not exactly one, or an option makes no sense beside it.
    """
    options = {"environment": environment, "endpoint": endpoint, "url": url}
    named = {kind: name for kind, name in options.items() if name is not None} or {
        kind: variables[variable] for kind, variable in VARIABLES.items() if variables.get(variable)
    }
    if len(named) != 1:
        raise UsageError(_HOW if not named else f"{_HOW}; only one of them, not {' and '.join(named.values())}")
    if not all(named.values()):
        raise UsageError(f"the name is empty; {_HOW}")
    if "url" in named and (region or profile):
        raise UsageError("--region and --profile are AWS's, and --url needs none of them: leave them out")
    if "url" not in named and api_key:
        raise UsageError("--api-key goes with --url; an endpoint of SageMaker's takes AWS credentials")
    key = (api_key or variables.get(API_KEY_VARIABLE) or None) if "url" in named else None
    return Target(**named, api_key=key, region=region, profile=profile)
