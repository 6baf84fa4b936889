"""Asks decision endpoints: a state, a question and options in, probabilities over the options out."""

from decision_client.backoff import Backoff
from decision_client.client import Decides, DecisionClient
from decision_client.decision import Decision, Option, Readout
from decision_client.errors import (
    AuthenticationError,
    BusyError,
    ConfigurationError,
    DeadlineError,
    DecisionClientError,
    EndpointError,
    InvalidRequestError,
    NotFoundError,
    ScoringError,
    SomeFailedError,
    TooLargeError,
    UnexpectedAnswerError,
    UnreachableError,
    UnsupportedContentError,
)
from decision_client.policy import Choice, Policy
from decision_client.result import ModelIdentity, Orders, Preamble, Result, Timing
from decision_client.settings import ClientSettings

__all__ = [
    "AuthenticationError",
    "Backoff",
    "BusyError",
    "Choice",
    "ClientSettings",
    "ConfigurationError",
    "DeadlineError",
    "Decides",
    "Decision",
    "DecisionClient",
    "DecisionClientError",
    "EndpointError",
    "InvalidRequestError",
    "ModelIdentity",
    "NotFoundError",
    "Option",
    "Orders",
    "Policy",
    "Preamble",
    "Readout",
    "Result",
    "ScoringError",
    "SomeFailedError",
    "Timing",
    "TooLargeError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "UnsupportedContentError",
]
