"""The local cloud of a checkout, found without the packages that run it.

What is read is `.local/run.json` of this folder or the nearest one above, `{"port": …}` among other fields: there every
service of AWS's answers, for any key. The cloud writes it when it is ready and removes it when another begins.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from decide.errors import DecideError, ExitStatus

ENVIRONMENT = "local"
RECORD = Path(".local") / "run.json"
_REGION = "us-east-1"
_CONNECT_SECONDS = 2.0
_START = "start it in the checkout with: make local-up"


def port(folder: Path) -> int:
    """Where the local cloud of the checkout around ``folder`` listens.

    Raises:
        DecideError: there is none, or it has ended.
    """
    record = next((one / RECORD for one in (folder, *folder.parents) if (one / RECORD).is_file()), None)
    if record is None:
        raise DecideError(f"no local cloud runs in {folder} or above; {_START}", ExitStatus.UNREACHABLE)
    try:
        number = int(json.loads(record.read_text("utf-8"))["port"])
        socket.create_connection(("127.0.0.1", number), timeout=_CONNECT_SECONDS).close()
    except (OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise DecideError(f"the local cloud of {record.parent} has ended; {_START}", ExitStatus.UNREACHABLE) from error
    return number


class LocalSession(boto3.Session):
    """A session whose clients talk to the local cloud, whatever the AWS settings of this shell are."""

    def __init__(self, listens: int, region: str | None) -> None:
        """Talk to the cloud that ``listens`` on that port."""
        nothing_of_the_user: dict[str, Any] = {
            "profile": (None, [], None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
        inner = botocore.session.Session(session_vars=nothing_of_the_user)
        inner.set_default_client_config(Config(proxies={}))
        super().__init__("local", "local", region_name=region or _REGION, botocore_session=inner)
        self._url = f"http://127.0.0.1:{listens}"

    def client(self, *arguments: Any, **options: Any) -> Any:
        """A client of the local cloud's."""
        # the stubs know each service by a literal name
        return super().client(*arguments, **options, endpoint_url=self._url)  # type: ignore[call-overload]
