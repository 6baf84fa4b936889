"""A client that asks without a pause and notes every failure."""

import json
import threading
import time
from types import TracebackType
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from local_cloud import Cloud, client_settings

_PATIENCE_SECONDS = 60.0


class Caller:
    """Asks one endpoint the same again and again, on a thread of its own, while the context lasts. It never retries."""

    def __init__(self, cloud: Cloud, endpoint: str, request: object) -> None:
        settings = client_settings(cloud)
        self._runtime = boto3.client(
            "sagemaker-runtime",
            endpoint_url=cloud.endpoint_url,
            region_name=settings["AWS_REGION"],
            aws_access_key_id=settings["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=settings["AWS_SECRET_ACCESS_KEY"],
            config=Config(retries={"total_max_attempts": 1}, proxies={}),
        )
        self._asked = {"EndpointName": endpoint, "ContentType": "application/json", "Body": json.dumps(request)}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.results: list[dict[str, Any]] = []
        self.failures: list[str] = []

    def models(self) -> list[str]:
        """The model files that answered, in the order in which they came into service."""
        return list(dict.fromkeys(result["model"]["gguf"]["file"] for result in self.results))

    def wait_for_another_answer(self) -> None:
        """Return when a request that began after the call has been answered, or has failed."""
        seen = len(self.results) + len(self.failures)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(self.results) + len(self.failures) < seen + 2 and time.monotonic() < deadline:
            time.sleep(0.05)

    def __enter__(self) -> "Caller":
        self._thread.start()
        self.wait_for_another_answer()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.wait_for_another_answer()
        self._done.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._done.is_set():
            try:
                answer = self._runtime.invoke_endpoint(**self._asked)
                self.results.append(json.load(answer["Body"])["result"])
            except (ClientError, BotoCoreError) as error:
                self.failures.append(str(error))
