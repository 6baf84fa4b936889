"""`decide status`: whether an environment's endpoints serve, and on what."""

from dataclasses import asdict
from typing import Any

import typer
import urllib3
from rich.table import Table

from decide import output
from decide.endpoints import Endpoint, described, names_of
from decide.errors import ExitStatus
from decide.options import JsonOption, patient, with_target
from decide.tables import facts
from decide.target import Target
from decision_client import ClientSettings, UnreachableError
from decision_client.http_transport import checked

EXAMPLES = (
    "decide status --env local",
    "decide status --env local --json",
    "decide status --endpoint decision-endpoints-dev-decision --region us-east-1",
    "decide status --url http://127.0.0.1:8080",
)


@with_target
def status(*, target: Target, as_json: JsonOption = False) -> None:
    """Show the endpoints: status, instances, image, model archive, why the last change failed.

    The exit status is 1 when one of them does not serve.
    """
    settings = patient()
    if target.url is not None:
        serves = _pinged(target.url, settings)
        shown: Any = {"endpoint": target.url, "serves": serves}
        output.print_json(shown) if as_json else output.results.print("ready" if serves else "loading")
    else:
        session = target.session()
        names = {"": target.endpoint} if target.endpoint else names_of(str(target.environment), session, settings)
        endpoints = described(names, session, settings)
        serves = all(endpoint.serves for endpoint in endpoints)
        if as_json:
            output.print_json([asdict(one) | {"changed": one.changed and one.changed.isoformat()} for one in endpoints])
        else:
            for endpoint in endpoints:
                output.results.print(_table(endpoint))
    if not serves:
        raise typer.Exit(ExitStatus.INCOMPLETE)


def _table(endpoint: Endpoint) -> Table:
    table = facts()
    style = "bold green" if endpoint.serves else "bold red"
    table.add_row(output.plain(endpoint.contract or "endpoint", "bold"), output.plain(endpoint.name))
    table.add_row("  status", output.plain(endpoint.status, style))
    if endpoint.changed:
        table.add_row("  changed", endpoint.changed.isoformat(sep=" ", timespec="seconds"))
    for variant in endpoint.variants:
        wanted = "" if variant.instances == variant.wanted_instances else f" of {variant.wanted_instances} wanted"
        kinds = " or ".join(variant.instance_types) or "an instance type that is not known"
        table.add_row("  instances", output.plain(f"{variant.instances}{wanted} × {kinds}"))
        table.add_row("  image", output.plain(variant.image))
        table.add_row("  model", output.plain(variant.model_archive))
        if variant.message:
            table.add_row("  now", output.plain(variant.message))
    if endpoint.failure_reason:
        table.add_row("  failure", output.plain(endpoint.failure_reason, "red"))
    return table


def _pinged(base_url: str, settings: ClientSettings) -> bool:
    """Whether a container behind a URL is ready.

    Raises:
        ConfigurationError: the URL is not one of HTTP.
        UnreachableError: nothing answers there, or it knows no /ping.
    """
    url = f"{checked(base_url).rstrip('/')}/ping"
    try:
        with urllib3.PoolManager(timeout=settings.connect_seconds, retries=False) as pool:
            answer = pool.request("GET", url)
    except urllib3.exceptions.HTTPError as error:
        raise UnreachableError(
            f"{url} cannot be reached: {error}; is the container running, and is this its URL?"
        ) from error
    if answer.status not in (200, 503):
        raise UnreachableError(f"{url} answered with status {answer.status}; is this a decision container?")
    return answer.status == 200
