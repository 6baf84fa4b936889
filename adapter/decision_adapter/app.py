"""The HTTP routes of the decision container. The only module that knows Flask."""

import logging
import time
from collections.abc import Collection
from functools import partial
from typing import Any

from flask import Flask, Request, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from decision_adapter import (
    authorization,
    connection,
    errors,
    json_body,
    metrics,
    openapi,
    playground,
    preparation,
    request_body,
    request_id,
)
from decision_adapter.contracts import json_lines, openai_decisions, semif, system_one
from decision_adapter.contracts.contract import Asked, Contract
from decision_adapter.contracts.shape import contract_of
from decision_adapter.errors import (
    InvalidRequestError,
    MethodError,
    RequestError,
    ScoringError,
    UnknownRouteError,
    UnsupportedContentError,
)
from decision_adapter.loading import BackgroundLoad
from decision_adapter.scorer import Scores
from decision_adapter.settings import Settings

log = logging.getLogger(__name__)

ROUTES = (
    "there are GET /ping, GET /metadata, GET /metrics, GET /openapi.json and POST /invocations; of System One, "
    "POST /v1/systemone and GET /v1/models; of OpenAI, POST /v1/decisions"
)

WATCHING = ("/ping", "/metrics")
"""Paths for those who watch the container, several times a minute: they need no key, are logged at debug level, and are
not counted. Neither are the files of the playground, where there is one."""

Answer = tuple[Response, int]


def create_app(loading: BackgroundLoad, settings: Settings) -> Flask:
    """The WSGI application that answers with what ``loading`` has loaded."""
    app = Flask("decision_adapter", static_folder=None)
    app.url_map.merge_slashes = False  # or a path with two would be redirected, in HTML
    app.json.sort_keys = False  # type: ignore[attr-defined]

    def served() -> Any:
        """The identity of the model that answers."""
        return loading.scorer().metadata()["model"]

    systemone, openai = system_one.contract(served), openai_decisions.CONTRACT
    contracts = [semif.contract(settings.max_shared_decisions), systemone, openai]
    contract_of_path = {"/v1/systemone": systemone, "/v1/models": systemone, "/v1/decisions": openai}

    def score(asked: Asked) -> Scores:
        environ = request.environ
        return loading.scorer().score(asked.decisions, lambda: connection.is_open(environ), g.started)

    @app.post("/v1/systemone")
    @app.post("/v1/decisions")
    def decide() -> Answer:
        sent = _read_json(request, settings.max_body_bytes)
        with preparation.alone():
            body = json_body.parse(sent)
            g.contract = contract = g.contract or contract_of(body, contracts)  # which tells errors, too
            asked = contract.ask(body)
            return jsonify(asked.answer(score(asked))), 200

    def decide_lines(body: bytes) -> Answer:
        deadline = g.started + settings.deadline_seconds
        with preparation.alone():
            lines = json_lines.answer(body, contracts, score, lambda: deadline - time.perf_counter())
        return Response(lines, content_type=json_lines.CONTENT_TYPE), 200

    @app.get("/ping")
    def ping() -> Answer:
        return (jsonify(status="ready"), 200) if loading.ready else (jsonify(status="loading"), 503)

    @app.get("/metrics")
    def metrics_text() -> Response:
        return Response(metrics.text(), content_type=metrics.CONTENT_TYPE)

    @app.get("/openapi.json")
    def description() -> Answer:
        return jsonify(openapi.document()), 200

    @app.get("/metadata")
    def metadata() -> Answer:
        return jsonify(loading.scorer().metadata()), 200

    @app.post("/invocations")
    def invocations() -> Answer:
        if request.mimetype in json_lines.CONTENT_TYPES:
            return decide_lines(_read_body(request, settings.max_body_bytes))
        return decide()

    @app.get("/v1/models")
    def models() -> Answer:
        return jsonify(system_one.models(served())), 200

    page = playground.files(needs_key=settings.api_key is not None) if settings.playground else {}
    for path, file in page.items():
        app.add_url_rule(path, path, partial(_send, file))

    open_paths = frozenset((*WATCHING, *page))
    _answer_errors(app)
    _record_requests(app, open_paths)

    @app.before_request
    def admit() -> None:
        g.contract = contract_of_path.get(request.path)
        if settings.api_key is not None and request.path not in open_paths:
            authorization.check(request.headers.get("Authorization"), settings.api_key)

    return app


def _read_json(incoming: Request, max_body_bytes: int) -> bytes:
    """The body, decompressed, once its declared type is JSON.

    Raises:
        UnsupportedContentError: it is declared as something else, or not at all.
        RequestError: those of ``request_body``.
    """
    if not incoming.is_json:
        declared = incoming.headers.get("Content-Type", "nothing")[:80]
        raise UnsupportedContentError(
            f"Content-Type: must be application/json, or {json_lines.CONTENT_TYPE} on /invocations, got {declared}"
        )
    return _read_body(incoming, max_body_bytes)


def _read_body(incoming: Request, max_body_bytes: int) -> bytes:
    """The body, decompressed, whatever its type.

    Raises:
        RequestError: those of ``request_body``.
    """
    body = request_body.read(incoming.stream, incoming.content_length, max_body_bytes)
    return request_body.decode(body, incoming.headers.get("Content-Encoding", ""), max_body_bytes)


def _answer_errors(app: Flask) -> None:
    """Turn every exception into a JSON answer; ``errors`` says which status."""

    def tell(error: RequestError) -> tuple[Response, int, dict[str, str]]:
        contract: Contract | None = g.get("contract")
        body, status, headers = (contract.refuse if contract else errors.answer)(error)
        return jsonify(body), status, headers

    @app.errorhandler(RequestError)
    def refuse(error: RequestError) -> tuple[Response, int, dict[str, str]]:
        g.outcome = type(error).__name__
        if isinstance(error, ScoringError):
            log.error("scoring failed: %s", error, exc_info=error)
        return tell(error)

    @app.errorhandler(HTTPException)
    def not_ours(error: HTTPException) -> tuple[Response, int, dict[str, str]]:
        sentence = f"{request.method[:20]} {request.path[:80]}: {error.name}; {ROUTES}"
        if isinstance(error, NotFound):
            return refuse(UnknownRouteError(sentence))
        if not isinstance(error, MethodNotAllowed):
            return refuse(InvalidRequestError("headers: Host must name a host, and Upgrade be left out"))
        answer, status, headers = refuse(MethodError(sentence))
        return answer, status, headers | {"Allow": ", ".join(sorted(error.valid_methods or ()))}

    @app.errorhandler(Exception)
    def fail(error: Exception) -> tuple[Response, int, dict[str, str]]:
        g.outcome = type(error).__name__
        log.error("scoring failed: %s", error, exc_info=error)
        return tell(ScoringError(str(error)))


def _send(file: playground.File) -> Response:
    return Response(file.body, content_type=file.content_type, headers=dict(playground.HEADERS))


def _record_requests(app: Flask, quiet_paths: Collection[str]) -> None:
    """Name each request, count it by its outcome, and log one line with that and the seconds it took."""

    @app.before_request
    def start() -> None:
        g.started, g.request_id = time.perf_counter(), request_id.new()

    @app.after_request
    def finish(response: Response) -> Response:
        seconds, outcome = time.perf_counter() - g.started, g.get("outcome", "ok")
        quiet = request.path in quiet_paths
        if not quiet:
            metrics.REQUESTS.labels(outcome).inc()
            metrics.LATENCY.observe(seconds)
        fields = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "outcome": outcome,
            "seconds": round(seconds, 6),
            "request_id": g.request_id,
        }
        response.headers.update(dict.fromkeys(request_id.HEADERS, g.request_id))
        log.log(logging.DEBUG if quiet else logging.INFO, "request", extra={"fields": fields})
        return response
