"""The command line of the local cloud: `python -m local_cloud up | status | down`."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError

from local_cloud import demo, image
from local_cloud.cloud import DEFAULT_STATE_DIRECTORY, Cloud, client_settings, discover, start, stop
from local_cloud.errors import LocalCloudError
from local_cloud.step import step

app = typer.Typer(
    help="AWS on this laptop: no account, no Docker.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
StateDirectoryOption = Annotated[Path, typer.Option("--state-dir", help="Where the cloud keeps what it writes.")]


@app.command("demo")
def run_demo(state_dir: StateDirectoryOption = DEFAULT_STATE_DIRECTORY) -> None:
    """Deploy the environment `local`, score decisions, chat, and leave nothing running that was not running before."""
    demo.demo(state_dir)


@app.command()
def up(
    state_dir: StateDirectoryOption = DEFAULT_STATE_DIRECTORY,
    empty: Annotated[bool, typer.Option("--empty", help="Deploy nothing.")] = False,
) -> None:
    """Start the cloud in the background and deploy the environment `local` to it."""
    with step("starting the local cloud"):
        cloud = start(state_dir, detached=True)
    if not empty:
        try:
            endpoints = demo.deploy(cloud)
            page = demo.playground(cloud, endpoints)
        except BaseException:
            cloud.stop()
            raise
        for contract, name in sorted(endpoints.items()):
            typer.echo(f"  {contract:<9} {name}")
        typer.echo(f"\nTry decisions in a browser: {page}")
    typer.echo(
        '\nPoint a shell at it with `eval "$(.venv/bin/python -m local_cloud status)"`; end it with `make local-down`.'
    )


@app.command()
def status(state_dir: StateDirectoryOption = DEFAULT_STATE_DIRECTORY) -> None:
    """Print the shell commands that point AWS clients at the cloud alone; exit status 1 when none runs."""
    cloud = discover(state_dir)
    if cloud is None:
        typer.echo(f"No local cloud runs in {state_dir}. Start it with: make local-up", err=True)
        raise typer.Exit(1)
    typer.echo(f"The local cloud runs (pid {cloud.pid}, state in {cloud.state_dir}).\n", err=True)
    _print_settings(cloud)


@app.command()
def down(state_dir: StateDirectoryOption = DEFAULT_STATE_DIRECTORY) -> None:
    """Stop the cloud and everything it started."""
    typer.echo("Stopped." if stop(state_dir) else f"No local cloud runs in {state_dir}.", err=True)


@app.command("image")
def build_image() -> None:
    """Build the decision image for real, with buildah, and print its digest and sizes as one JSON line."""
    typer.echo(json.dumps(image.build().result))


def _print_settings(cloud: Cloud) -> None:
    settings = client_settings(cloud)
    for name in sorted(name for name in os.environ if name.startswith("AWS_") and name not in settings):
        typer.echo(f"unset {name}")
    for name, value in settings.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


def main() -> None:
    """Run the command line; what goes wrong at the cloud is one sentence."""
    try:
        app()
    except (LocalCloudError, ClientError, BotoCoreError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
