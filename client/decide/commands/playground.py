"""`decide playground`: a page to try decisions on, for any endpoint."""

import threading
import webbrowser
from contextlib import closing
from typing import Annotated

import typer

from decide import output
from decide.options import patient, with_target
from decide.playground import Playground
from decide.target import Target

EXAMPLES = (
    "decide playground --env local",
    "decide playground --env dev --port 8377 --no-open",
    "decide playground --url http://127.0.0.1:8080",
)


@with_target
def playground(
    *,
    target: Target,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="PORT", help="The page's; its history belongs to it. 0: any.")
    ] = 0,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Show the page in a browser.")] = True,
) -> None:
    """Serve a page on this machine to try decisions on; Ctrl-C ends it."""
    with closing(target.transport(patient())) as transport, Playground(port, target, transport) as server:
        output.messages.print(output.plain(f"The playground of {target}; Ctrl-C ends it."))
        output.results.print(server.url, soft_wrap=True)
        if opens:  # beside the server: some browsers answer only when they end
            threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            output.messages.print("Ended.")
