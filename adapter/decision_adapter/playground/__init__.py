"""The playground: a page to try decisions on, and how it is served.

Plain HTML, CSS and JavaScript beside this module, without a build and without anything from elsewhere. The container
serves it, and so does the client's command for an endpoint that is elsewhere; this package imports nothing of either.

    index.html      what there is to see; templates of a question, an option, an answer
    style.css       how it looks, dark and light
    theme.js        which of the two, before anything is drawn
    main.js         what happens when: scoring, cancelling, loading, keys
    form.js         the form: to and from a plain object
    request.js      that object as a request, as curl and as Python
    endpoint.js     asks the endpoint, again while it is busy
    problems.js     which field an endpoint's sentence is about
    answer.js       bars, mass and margin
    code.js         the panel of request, answer, curl and Python
    history.js      what was scored before, kept in the browser
    examples.js     forms to begin with
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind} 'self'" for kind in ("script-src", "style-src", "img-src", "connect-src")),
        *(f"{kind} 'none'" for kind in ("base-uri", "form-action", "frame-ancestors")),
        "require-trusted-types-for 'script'",  # what a caller typed can never become markup
        "trusted-types 'none'",
    )
)

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every file of the page."""


@dataclass(frozen=True)
class File:
    """What is sent for one path."""

    content_type: str
    body: bytes


def files(*, needs_key: bool, name: str | None = None, client: str | None = None) -> dict[str, File]:
    """The page's files, each by the path under which it is asked for; the page itself is ``/``.

    Args:
        needs_key: whether the endpoint wants a bearer token, so that the page asks for one.
        name: what the endpoint is called; None when it is where the page comes from.
        client: the Python expression of a `decision_client` that reaches it; None for one by the page's own URL.
    """
    found = {
        "/" if path.name == "index.html" else f"/playground/{path.name}": File(_TYPES[path.suffix], path.read_bytes())
        for path in sorted(_FOLDER.iterdir())
        if path.suffix in _TYPES
    }
    endpoint = json.dumps({"needs_key": needs_key, "name": name, "client": client}).encode()
    return found | {"/playground/endpoint.json": File("application/json", endpoint)}
