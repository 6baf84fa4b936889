"""The chat container: llama.cpp's OpenAI-compatible server behind the paths SageMaker calls.

    /ping → is the server ready?    /invocations → /v1/chat/completions    any other path → as it is

It takes the place of the published llama-cpp container and reads the same SM_LLAMA_CPP_* variables. The server is
`llama-server` when that is on PATH, else llama-cpp-python's.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from local_cloud.container import free_port

_PREFIX = "SM_LLAMA_CPP_"
_OWN_SETTINGS = frozenset({"MODEL", "MODEL_DIR", "PORT", "HOST"})
_REQUEST_TIMEOUT = httpx2.Timeout(None, connect=5.0)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
# Names that llama-server and llama-cpp-python's server spell differently.
_PYTHON_OPTIONS = {
    "alias": "model_alias",
    "batch-size": "n_batch",
    "ctx-size": "n_ctx",
    "flash-attn": "flash_attn",
    "gpu-layers": "n_gpu_layers",
    "main-gpu": "main_gpu",
    "mlock": "use_mlock",
    "n-gpu-layers": "n_gpu_layers",
    "rope-freq-base": "rope_freq_base",
    "rope-freq-scale": "rope_freq_scale",
    "seed": "seed",
    "threads": "n_threads",
    "threads-batch": "n_threads_batch",
    "ubatch-size": "n_ubatch",
    "verbose": "verbose",
    "api-key": "api_key",
}


def find_model(environment: Mapping[str, str]) -> Path:
    """The GGUF to serve: SM_LLAMA_CPP_MODEL, else the first at the root of the model directory or one folder down.

    Raises:
        FileNotFoundError: there is none; the message says which files there are.
    """
    named = environment.get(f"{_PREFIX}MODEL")
    if named:
        return Path(named)
    directory = Path(environment.get(f"{_PREFIX}MODEL_DIR", "/opt/ml/model"))
    for pattern in ("*.gguf", "*/*.gguf"):
        found = sorted(directory.glob(pattern))
        if found:
            return found[0]
    seen = ", ".join(sorted(path.name for path in directory.glob("*"))) or "no files"
    raise FileNotFoundError(f"no *.gguf or */*.gguf in {directory}; it holds {seen}")


def server_options(environment: Mapping[str, str]) -> dict[str, str | None]:
    """llama-server's options by name, None for a bare flag: SM_LLAMA_CPP_CTX_SIZE=2048 → ctx-size: 2048."""
    options: dict[str, str | None] = {}
    for variable, value in sorted(environment.items()):
        name = variable.removeprefix(_PREFIX)
        if not variable.startswith(_PREFIX) or name in _OWN_SETTINGS or value.lower() == "false":
            continue
        options[name.lower().replace("_", "-")] = None if value.lower() == "true" else value
    return options


def llama_server_command(program: str, model: Path, port: int, options: Mapping[str, str | None]) -> list[str]:
    """The command line of llama-server."""
    command = [program, "--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    for name, value in options.items():
        command += [f"--{name}"] if value is None else [f"--{name}", value]
    return command


def python_server_command(model: Path, port: int, options: Mapping[str, str | None]) -> tuple[list[str], list[str]]:
    """The command line of llama-cpp-python's server, and the options it has no equal of."""
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--host", "127.0.0.1"]
    # Requests wait their turn, as in llama-server; by default a new one would cut the current one off.
    command += ["--port", str(port), "--interrupt_requests", "false"]
    unknown = []
    for name, value in options.items():
        if name == "no-mmap":
            command += ["--use_mmap", "false"]
        elif name in _PYTHON_OPTIONS:
            command += [f"--{_PYTHON_OPTIONS[name]}", _python_value(name, value)]
        else:
            unknown.append(name)
    return command, unknown


def _python_value(name: str, value: str | None) -> str:
    if name == "flash-attn":
        return "true" if value in (None, "on", "1", "enabled") else "false"
    return "true" if value is None else value


def front(upstream_url: str, ready_path: str) -> Starlette:
    """The HTTP application in front of a server."""
    client = httpx2.AsyncClient(base_url=upstream_url, timeout=_REQUEST_TIMEOUT, trust_env=False)

    async def ping(_request: Request) -> Response:
        try:
            ready = (await client.get(ready_path, timeout=1.5)).status_code == httpx2.codes.OK
        except httpx2.TransportError:
            ready = False
        return Response(status_code=200 if ready else 503)

    async def forward(request: Request) -> Response:
        path = "/v1/chat/completions" if request.url.path == "/invocations" else request.url.path
        url = httpx2.URL(path=path, query=request.url.query.encode())
        headers = {name: value for name, value in request.headers.items() if name in ("content-type", "accept")}
        upstream = client.build_request(request.method, url, headers=headers, content=await request.body())
        answer = await client.send(upstream, stream=True)

        async def chunks() -> AsyncIterator[bytes]:
            async with contextlib.aclosing(answer):
                async for chunk in answer.aiter_raw():
                    yield chunk

        kept = {name: answer.headers[name] for name in ("content-type", "content-length") if name in answer.headers}
        return StreamingResponse(chunks(), answer.status_code, kept)

    return Starlette(routes=[Route("/ping", ping), Route("/{path:path}", forward, methods=_METHODS)])


async def serve(environment: Mapping[str, str]) -> int:
    """Run the server and its front until either ends; the server's exit status."""
    port, options, model = free_port(), server_options(environment), find_model(environment)
    program = shutil.which("llama-server")
    if program is not None:
        command, ready_path = llama_server_command(program, model, port, options), "/health"
    else:
        command, unknown = python_server_command(model, port, options)
        ready_path = "/v1/models"
        for name in unknown:
            print(f"llama-cpp-python's server has no option like --{name}; left out", flush=True)
    print(f"starting: {' '.join(command)}", flush=True)
    # In this process's group, so that whoever ends the container ends both.
    server = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL)
    config = uvicorn.Config(
        front(f"http://127.0.0.1:{port}", ready_path),
        host="127.0.0.1",
        port=int(environment[f"{_PREFIX}PORT"]),
        log_level="warning",
        access_log=False,
    )
    web = asyncio.create_task(uvicorn.Server(config).serve())
    ended = asyncio.create_task(server.wait())
    await asyncio.wait((web, ended), return_when=asyncio.FIRST_COMPLETED)
    if server.returncode is None:
        server.send_signal(signal.SIGTERM)
        return await ended
    web.cancel()
    return server.returncode


def main() -> int:
    """Serve with this process's environment; the exit status of the server."""
    try:
        return asyncio.run(serve(os.environ))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
