import io
import json
import subprocess
import tarfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from local_cloud.cloud import Cloud, client_environment, client_settings, start
from local_cloud.docker import STATE_DIRECTORY_VARIABLE

BASE = "public.ecr.aws/docker/library/python@sha256:" + "a" * 64

# A decision container as small as can be: what it does is in its environment and in the request.
SERVE = """#!/usr/bin/env python3
import http.server
import json
import os
import sys
import time
from pathlib import Path

if "STUB_EXIT" in os.environ:
    print("starting")
    sys.exit(os.environ["STUB_EXIT"])
print("listening", flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(503 if "STUB_UNHEALTHY" in os.environ else 200, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body) if body.startswith(b"{") else {}
        if "touch" in request:
            Path(request["touch"]).touch()
        time.sleep(request.get("sleep", 0))
        if request.get("die"):
            os._exit(9)
        answer = {
            "environment": {name: value for name, value in os.environ.items() if name.startswith(("STUB_", "SEMIF_"))},
            "model": sorted(path.name for path in Path(os.environ["SEMIF_MODEL_DIR"]).iterdir()),
            "file": __file__,
            "content_type": self.headers["Content-Type"],
            "accept": self.headers["Accept"],
        }
        self.answer(request.get("status", 200), request.get("answer", json.dumps(answer)).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-stub")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    # Connections wait here to be accepted, as they do in gunicorn; beyond the default of 5 they may be reset.
    request_queue_size = 128


Server((os.environ["SEMIF_HOST"], int(os.environ["SEMIF_PORT"])), Handler).serve_forever()
"""


def eventually(condition: Callable[[], Any], timeout_seconds: float = 20.0) -> Any:
    """The first true value of a condition, asked again and again until then; fails after the time-out."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {timeout_seconds} s: {condition}")


def processes_with(text: str) -> list[str]:
    """Command lines of the processes that have a text in their environment or command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if text.encode() in command + (process / "environ").read_bytes():
                found.append(command.replace(b"\0", b" ").decode())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


@dataclass
class Workshop:
    """What tests make in a cloud, with names that do not collide."""

    cloud: Cloud
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str, **options: Any) -> Any:
        if service not in self._clients or options:
            settings = client_settings(self.cloud)
            made = boto3.client(
                service,
                endpoint_url=self.cloud.endpoint_url,
                region_name="us-east-1",
                aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key="local",
                config=Config(retries={"total_max_attempts": 1}, read_timeout=90, **options),
            )
            if options:
                return made
            self._clients[service] = made
        return self._clients[service]

    def docker(self, *arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run the stand-in as a build would."""
        environment = {**client_environment(self.cloud), STATE_DIRECTORY_VARIABLE: str(self.cloud.state_dir)}
        command = [str(self.cloud.state_dir / "bin" / "docker"), *map(str, arguments)]
        return subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False)

    def image(self, context: Path, serve: str = SERVE) -> str:
        """A pushed image, as repository@sha256:…"""
        (context / "serve").write_text(serve)
        (context / "serve").chmod(0o755)
        (context / "Dockerfile").write_text(f"FROM {BASE}\nCOPY . /opt/stub\n")
        name = f"stub/{unique('image')}"
        uri = self.client("ecr").create_repository(repositoryName=name)["repository"]["repositoryUri"]
        registry = uri.partition("/")[0]
        for outcome in (
            self.docker("login", "--username", "AWS", "--password-stdin", registry, text="secret"),
            self.docker("build", "--tag", f"{uri}:one", context),
            self.docker("push", f"{uri}:one"),
        ):
            assert outcome.returncode == 0, outcome.stderr
        image = self.client("ecr").describe_images(repositoryName=name, imageIds=[{"imageTag": "one"}])
        return f"{uri}@{image['imageDetails'][0]['imageDigest']}"

    def archive(self, **files: bytes) -> str:
        """The S3 URL of a model archive with the files given."""
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as tar:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        bucket = unique("bucket")
        self.client("s3").create_bucket(Bucket=bucket)
        self.client("s3").put_object(Bucket=bucket, Key="model.tar.gz", Body=content.getvalue())
        return f"s3://{bucket}/model.tar.gz"

    def model(self, image: str, url: str, **environment: str) -> str:
        name = unique("model")
        container = {"Image": image, "ModelDataUrl": url, "Environment": environment}
        self.client("sagemaker").create_model(ModelName=name, PrimaryContainer=container, ExecutionRoleArn=ROLE)
        return name

    def config(self, model: str, **variant: Any) -> str:
        name = unique("config")
        capacity = {} if "InstancePools" in variant else {"InstanceType": "ml.c6i.large"}
        one = {"VariantName": "primary", "ModelName": model, "InitialInstanceCount": 1, **capacity, **variant}
        self.client("sagemaker").create_endpoint_config(EndpointConfigName=name, ProductionVariants=[one])
        return name

    def endpoint(self, config: str) -> str:
        """An endpoint that has settled, in service or failed."""
        name = unique("endpoint")
        self.client("sagemaker").create_endpoint(EndpointName=name, EndpointConfigName=config)
        self.settled(name)
        return name

    def settled(self, endpoint: str) -> dict[str, Any]:
        def describe() -> dict[str, Any] | None:
            found: dict[str, Any] = self.client("sagemaker").describe_endpoint(EndpointName=endpoint)
            return None if found["EndpointStatus"] in ("Creating", "Updating") else found

        answer: dict[str, Any] = eventually(describe)
        return answer

    def invoke(self, endpoint: str, **request: Any) -> dict[str, Any]:
        response = self.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoint, ContentType="application/json", Accept="application/x-stub", Body=json.dumps(request)
        )
        answer: dict[str, Any] = json.loads(response["Body"].read())
        return answer


ROLE = "arn:aws:iam::000000000000:role/execution"


def unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with start(tmp_path_factory.mktemp("cloud"), detached=False) as cloud:
        yield cloud


@pytest.fixture(scope="session")
def workshop(cloud: Cloud) -> Workshop:
    return Workshop(cloud)


@pytest.fixture(scope="session")
def stub_image(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> str:
    return workshop.image(tmp_path_factory.mktemp("context"))


@pytest.fixture(scope="session")
def stub_archive(workshop: Workshop) -> str:
    return workshop.archive(**{"model.gguf": b"weights"})


@pytest.fixture(scope="session")
def stub_endpoint(workshop: Workshop, stub_image: str, stub_archive: str) -> str:
    """An endpoint in service that no test changes."""
    model = workshop.model(stub_image, stub_archive, STUB_NAME="first", STUB_PATH="/opt/ml/model/model.gguf")
    return workshop.endpoint(workshop.config(model))


@pytest.fixture(scope="session", name="eventually")
def eventually_fixture() -> Callable[..., Any]:
    return eventually


@pytest.fixture(scope="session", name="processes_with")
def processes_with_fixture() -> Callable[[str], list[str]]:
    return processes_with


@pytest.fixture(scope="session")
def make_workshop() -> type[Workshop]:
    """For a test with a cloud of its own."""
    return Workshop


@pytest.fixture(scope="session", name="unique")
def unique_fixture() -> Callable[[str], str]:
    return unique
