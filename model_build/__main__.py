"""The command line: options in, one JSON line out. Progress and errors go to stderr."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from model_build.build import build_model
from model_build.errors import ModelBuildError
from model_build.specification import OPTIONS, parse_specification

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def _option(name: str) -> Any:
    option = OPTIONS[name]
    return typer.Option(option.flag, envvar=option.env, help=f"Allowed: {option.allowed}.")


@app.command()
def main(
    *,
    gguf_repository: Annotated[str, _option("gguf_repository")] = "",
    gguf_revision: Annotated[str, _option("gguf_revision")] = "",
    gguf_file: Annotated[str, _option("gguf_file")] = "",
    gguf_uri: Annotated[str, _option("gguf_uri")] = "",
    gguf_sha256: Annotated[str, _option("gguf_sha256")] = "",
    tokenizer_repository: Annotated[str, _option("tokenizer_repository")] = "",
    tokenizer_revision: Annotated[str, _option("tokenizer_revision")] = "",
    calibration: Annotated[str, _option("calibration")] = "",
    upload_uri: Annotated[str, _option("upload_uri")] = "",
    work_dir: Annotated[
        Path,
        typer.Option(
            envvar="MODEL_WORK_DIR",
            help="Downloads and the archive; needs twice the size of the GGUF.",
            file_okay=False,
        ),
    ] = Path("build/model"),
) -> None:
    """Pack a pinned GGUF and its tokenizer into work-dir/model.tar.gz, verify it and upload it.

    The GGUF comes from the Hugging Face Hub (repository, revision, file) or from S3 (uri). The last line on stdout is a
    JSON object: model_data_url, sha256, size_bytes, manifest.
    """
    values = {name: value for name, value in locals().items() if name in OPTIONS}
    try:
        result = build_model(parse_specification(values), work_dir)
    except (ModelBuildError, OSError) as error:
        hint = " Running the build again may succeed." if getattr(error, "retryable", False) else ""
        print(f"model_build: error: {error}{hint}", file=sys.stderr)
        raise typer.Exit(getattr(error, "exit_code", 1)) from error
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    app(prog_name="python -m model_build")
