"""The options that commands share."""

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from decide.target import VARIABLES, Target, choose
from decision_client import Backoff, ClientSettings

INTERACTIVE_SECONDS = 5.0
"""How long a busy or unreachable endpoint is asked again while somebody looks on."""
_PANEL = "Which endpoint"

EnvironmentOption = Annotated[
    str | None,
    typer.Option(
        "--env", "-e", metavar="NAME", help="The one an environment deployed. [DECIDE_ENV]", rich_help_panel=_PANEL
    ),
]
EndpointOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="One of SageMaker's, by name. [DECIDE_ENDPOINT]", rich_help_panel=_PANEL),
]
UrlOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="A container without SageMaker. [DECIDE_URL]", rich_help_panel=_PANEL),
]
ApiKeyOption = Annotated[
    str | None, typer.Option(metavar="KEY", help="For --url. [DECIDE_API_KEY]", rich_help_panel=_PANEL)
]
RegionOption = Annotated[
    str | None, typer.Option(metavar="REGION", help="AWS region. [AWS_DEFAULT_REGION]", rich_help_panel=_PANEL)
]
ProfileOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="AWS profile. [AWS_PROFILE]", rich_help_panel=_PANEL)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
SaveOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where rows are saved, or go on from: LABELS.ENDPOINT.run.jsonl.")
]
WaitOption = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long to ask a busy endpoint again.")]


def with_target(command: Callable[..., None]) -> Callable[..., None]:
    """``command`` with the options that name an endpoint in place of its parameter ``target: Target``.

    With ``target: Target | None`` it is called with None where neither an option nor a variable names one.
    """
    signature = inspect.signature(command, eval_str=True)
    optional = signature.parameters["target"].annotation != Target
    options = {
        "environment": EnvironmentOption,
        "endpoint": EndpointOption,
        "url": UrlOption,
        "api_key": ApiKeyOption,
        "region": RegionOption,
        "profile": ProfileOption,
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:
        named = {name: given.pop(name) for name in options}
        nobody = all(name is None for name in named.values()) and not any(map(os.environ.get, VARIABLES.values()))
        target = None if optional and nobody else choose(**named, variables=os.environ)
        command(target=target, **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # what typer reads
        parameters=[
            *(one.replace(kind=keyword) for one in signature.parameters.values() if one.name != "target"),
            *(inspect.Parameter(name, keyword, default=None, annotation=option) for name, option in options.items()),
        ]
    )
    return run


def patient(seconds: float = INTERACTIVE_SECONDS, **settings: Any) -> ClientSettings:
    """Settings of a client that asks a busy endpoint again for so many ``seconds``."""
    return ClientSettings(backoff=Backoff(deadline_seconds=seconds), **settings)
