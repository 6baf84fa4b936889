"""The HTTP routes of the decision container. The only module that knows Flask."""

import logging
import time

from flask import Flask, Request, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from decision_adapter import connection, errors, json_body, metrics, preparation, request_body
from decision_adapter.contracts import semif
from decision_adapter.contracts.contract import Contract
from decision_adapter.contracts.shape import contract_of
from decision_adapter.errors import RequestError, ScoringError, UnsupportedContentError
from decision_adapter.loading import BackgroundLoad
from decision_adapter.settings import Settings

log = logging.getLogger(__name__)

ROUTES = "there are GET /ping, GET /metadata, GET /metrics and POST /invocations"

QUIET = ("/ping", "/metrics")
"""Paths that are asked several times a minute: logged at debug level, and not counted."""

Answer = tuple[Response, int]


def create_app(loading: BackgroundLoad, settings: Settings) -> Flask:
    """The WSGI application that answers with what ``loading`` has loaded."""
    app = Flask("decision_adapter")
    app.json.sort_keys = False  # type: ignore[attr-defined]

    contracts = [semif.contract(settings.max_shared_decisions)]

    def decide(body: dict[str, object], contract: Contract) -> Answer:
        g.contract = contract  # which tells errors, too
        asked = contract.ask(body)
        environ = request.environ
        scores = loading.scorer().score(asked.decisions, lambda: connection.is_open(environ))
        return jsonify(asked.answer(scores)), 200

    @app.get("/ping")
    def ping() -> Answer:
        return (jsonify(status="ready"), 200) if loading.ready else (jsonify(status="loading"), 503)

    @app.get("/metrics")
    def metrics_text() -> Response:
        return Response(metrics.text(), content_type=metrics.CONTENT_TYPE)

    @app.get("/metadata")
    def metadata() -> Answer:
        return jsonify(loading.scorer().metadata()), 200

    @app.post("/invocations")
    def invocations() -> Answer:
        sent = _read_body(request, settings.max_body_bytes)
        with preparation.alone():
            body = json_body.parse(sent)
            return decide(body, contract_of(body, contracts))

    _answer_errors(app)
    _record_requests(app)
    return app


def _read_body(incoming: Request, max_body_bytes: int) -> bytes:
    """The body, decompressed, once its declared type is JSON.

    Raises:
        UnsupportedContentError: it is declared as something else, or not at all.
        RequestError: those of ``request_body``.
    """
    if not incoming.is_json:
        declared = incoming.headers.get("Content-Type", "nothing")[:80]
        raise UnsupportedContentError(f"Content-Type: must be application/json, got {declared}")
    body = request_body.read(incoming.stream, incoming.content_length, max_body_bytes)
    return request_body.decode(body, incoming.headers.get("Content-Encoding", ""), max_body_bytes)


def _answer_errors(app: Flask) -> None:
    """Turn every exception into a JSON answer; ``errors`` says which status."""

    @app.errorhandler(RequestError)
    def refuse(error: RequestError) -> tuple[Response, int, dict[str, str]]:
        g.outcome = type(error).__name__
        if isinstance(error, ScoringError):
            log.error("scoring failed: %s", error, exc_info=error)
        contract: Contract | None = g.get("contract")
        body, status, headers = (contract.refuse if contract else errors.answer)(error)
        return jsonify(body), status, {**error.headers, **headers}

    @app.errorhandler(HTTPException)
    def not_ours(error: HTTPException) -> Answer:
        g.outcome = error.name
        answer = jsonify(error=f"{request.method[:20]} {request.path[:80]}: {error.name}; {ROUTES}")
        if isinstance(error, MethodNotAllowed) and error.valid_methods:
            answer.headers["Allow"] = ", ".join(sorted(error.valid_methods))
        return answer, error.code or 500

    @app.errorhandler(Exception)
    def fail(error: Exception) -> Answer:
        g.outcome = type(error).__name__
        log.error("scoring failed: %s", error, exc_info=error)
        return jsonify(error="scoring failed"), 500


def _record_requests(app: Flask) -> None:
    """Count each request by its outcome, and log one line with that and the seconds it took."""

    @app.before_request
    def start() -> None:
        g.started = time.perf_counter()

    @app.after_request
    def finish(response: Response) -> Response:
        seconds, outcome = time.perf_counter() - g.started, g.get("outcome", "ok")
        quiet = request.path in QUIET
        if not quiet:
            metrics.REQUESTS.labels(outcome).inc()
            metrics.LATENCY.observe(seconds)
        fields = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "outcome": outcome,
            "seconds": round(seconds, 6),
        }
        log.log(logging.DEBUG if quiet else logging.INFO, "request", extra={"fields": fields})
        return response
