"""CodeBuild's builds: a project's buildspec run on this machine. Projects themselves are MiniStack's."""

import logging
import os
import shutil
import threading
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from local_cloud.build import BuildRun, PhaseResult, Status
from local_cloud.buildspec import Buildspec, parse_buildspec
from local_cloud.cloud import ACCOUNT_ID, REGION
from local_cloud.errors import BuildspecError, InvalidInputError, LocalCloudError, ResourceNotFoundError
from local_cloud.json_api import JsonApi, Parameters
from local_cloud.log_stream import LogStream
from local_cloud.resources import Record, now

if TYPE_CHECKING:
    from mypy_boto3_codebuild.client import CodeBuildClient
    from mypy_boto3_logs.client import CloudWatchLogsClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_ssm.client import SSMClient

OPERATIONS = ("StartBuild", "BatchGetBuilds", "StopBuild", "ListBuilds", "ListBuildsForProject")
_DEFAULT_TIMEOUT_MINUTES = 60
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Clients:
    """The services of the local cloud that a build needs."""

    codebuild: "CodeBuildClient"
    logs: "CloudWatchLogsClient"
    s3: "S3Client"
    ssm: "SSMClient"


@dataclass
class Build:
    """A build, its record as BatchGetBuilds shows it, and the file of its log."""

    record: Record
    log_path: Path
    stopping: threading.Event = field(default_factory=threading.Event)

    def begin_phase(self, name: str) -> None:
        """Enter a phase."""
        self.record["currentPhase"] = name
        self.record["phases"] = [*self.record["phases"], {"phaseType": name, "startTime": now()}]

    def end_phase(self, status: str = Status.SUCCEEDED, code: str = "", message: str = "") -> None:
        """Leave the current phase, with the reason when it failed."""
        *before, phase = self.record["phases"]
        ended = now()
        context = {"contexts": [{"statusCode": code, "message": message}]} if message else {}
        seconds = {"durationInSeconds": round(ended - phase["startTime"])}
        self.record["phases"] = [*before, {**phase, "phaseStatus": status, "endTime": ended, **seconds, **context}]


class CodeBuild:
    """The service, for builds. `environment` is what every build starts from: PATH and the cloud's address."""

    def __init__(self, clients: Clients, builds: Path, logs: Path, environment: Mapping[str, str]) -> None:
        self._clients = clients
        self._directory = builds
        self._logs_directory = logs
        self._environment = dict(environment)
        self._builds: dict[str, Build] = {}
        self._by_token: dict[str, Build] = {}
        self._lock = threading.Lock()
        self.api = JsonApi(
            "codebuild",
            {
                "StartBuild": self._start,
                "BatchGetBuilds": self._get,
                "StopBuild": self._stop,
                "ListBuilds": lambda p: {"ids": self._ids(p)},
                "ListBuildsForProject": lambda p: {"ids": self._ids(p, p["projectName"])},
            },
        )

    def _start(self, parameters: Parameters) -> Parameters:
        name = parameters["projectName"]
        projects = self._clients.codebuild.batch_get_projects(names=[name])["projects"]
        if not projects:
            arn = f"arn:aws:codebuild:{REGION}:{ACCOUNT_ID}:project/{name}"
            raise ResourceNotFoundError(f"Project cannot be found: {arn}")
        project: Record = dict(projects[0])
        with self._lock:
            token = parameters.get("idempotencyToken")
            if token in self._by_token:
                return {"build": dict(self._by_token[token].record)}
            number = 1 + sum(build.record["projectName"] == name for build in self._builds.values())
            build = self._new_build(project, parameters, number)
            self._builds[build.record["id"]] = build
            if token:
                self._by_token[token] = build
        threading.Thread(target=self._run, args=(build, parameters), name=build.record["id"], daemon=True).start()
        return {"build": dict(build.record)}

    def _new_build(self, project: Record, parameters: Parameters, number: int) -> Build:
        build_uuid = str(uuid.uuid4())
        log_path = self._logs_directory / "builds" / f"{project['name']}-{build_uuid}.log"
        return Build(_record(project, parameters, number, build_uuid, log_path), log_path)

    def _get(self, parameters: Parameters) -> Parameters:
        known = [dict(self._builds[build_id].record) for build_id in parameters["ids"] if build_id in self._builds]
        unknown = [build_id for build_id in parameters["ids"] if build_id not in self._builds]
        return {"builds": known, "buildsNotFound": unknown}

    def _stop(self, parameters: Parameters) -> Parameters:
        if parameters["id"] not in self._builds:
            raise ResourceNotFoundError(f"Build {parameters['id']} not found")
        build = self._builds[parameters["id"]]
        build.stopping.set()
        return {"build": dict(build.record)}

    def _ids(self, parameters: Parameters, project: str | None = None) -> list[str]:
        builds = [b.record for b in self._builds.values() if project in (None, b.record["projectName"])]
        ids = [record["id"] for record in builds]
        return ids if parameters.get("sortOrder") == "ASCENDING" else ids[::-1]

    def _run(self, build: Build, parameters: Parameters) -> None:
        record = build.record
        log = LogStream(build.log_path, record["logs"]["groupName"], record["logs"]["streamName"], self._clients.logs)
        try:
            status = self._run_phases(build, parameters, log)
        except Exception:  # noqa: BLE001
            # A fault of the local cloud, not of the build: a build must never stay IN_PROGRESS for it.
            _log.exception("build %s", record["id"])
            status, message = "FAULT", "the local cloud failed; see its log"
            build.end_phase("FAULT", "INTERNAL_ERROR", message)
        log.close()
        build.begin_phase("COMPLETED")
        record.update(endTime=now(), buildComplete=True, buildStatus=str(status))

    def _run_phases(self, build: Build, parameters: Parameters, log: LogStream) -> str:
        record = build.record
        work = self._directory / record["id"].replace(":", "-")
        source, control = work / "src", work / "control"
        for directory in (source, control, work / "tmp"):
            directory.mkdir(parents=True)
        for phase in ("SUBMITTED", "QUEUED", "PROVISIONING"):
            build.begin_phase(phase)
            build.end_phase()
        build.begin_phase("DOWNLOAD_SOURCE")
        try:
            self._download(record["source"], source)
            buildspec = _buildspec(record["source"], source)
            environment = self._build_environment(record, parameters, buildspec, source, work / "tmp")
        except LocalCloudError as error:
            log.write(f"[Container] {error}")
            build.end_phase(
                Status.FAILED, "YAML_FILE_ERROR" if isinstance(error, BuildspecError) else "CLIENT_ERROR", str(error)
            )
            return Status.FAILED
        build.end_phase()

        def on_phase(name: str, result: PhaseResult | None) -> None:
            if result is None:
                build.begin_phase(name.upper())
            else:
                build.end_phase(result.status, "COMMAND_EXECUTION_ERROR", result.message)

        timeout_seconds = record["timeoutInMinutes"] * 60
        run = BuildRun(buildspec, source, control, environment, timeout_seconds, log, on_phase, build.stopping)
        status = run.run()
        exported = run.exported_variables()
        record["exportedEnvironmentVariables"] = [{"name": name, "value": value} for name, value in exported.items()]
        for phase in ("UPLOAD_ARTIFACTS", "FINALIZING"):
            build.begin_phase(phase)
            build.end_phase()
        shutil.rmtree(work, ignore_errors=True)
        return status

    def _download(self, source: Mapping[str, Any], directory: Path) -> None:
        """Extract a project's source zip, with the files' modes.

        Raises:
            InvalidInputError: the source is of another type, missing, or reaches outside the directory.
        """
        if source["type"] == "NO_SOURCE":
            return
        if source["type"] != "S3":
            raise InvalidInputError(f"the local cloud builds sources of type S3 and NO_SOURCE, not {source['type']}")
        bucket, _, key = source["location"].removeprefix("arn:aws:s3:::").partition("/")
        archive = directory.parent / "source.zip"
        try:
            self._clients.s3.download_file(bucket, key, str(archive))
        except ClientError as error:
            raise InvalidInputError(f"source s3://{bucket}/{key} cannot be downloaded: {error}") from error
        with zipfile.ZipFile(archive) as content:
            for member in content.infolist():
                # extract() drops what would lead outside, and forgets the mode.
                extracted = Path(content.extract(member, directory))
                mode = member.external_attr >> 16 & 0o777
                if mode and extracted.is_file():
                    extracted.chmod(mode)

    def _build_environment(
        self, record: Record, parameters: Parameters, buildspec: Buildspec, source: Path, temporary: Path
    ) -> dict[str, str]:
        """A build's variables; the project's win over the buildspec's, and those of the call over both."""
        overrides = parameters.get("environmentVariablesOverride", [])
        declared = [*record["environment"].get("environmentVariables", []), *overrides]
        return {
            **self._environment,
            "TMPDIR": str(temporary),
            **buildspec.env.variables,
            **{name: self._parameter(path) for name, path in buildspec.env.parameter_store.items()},
            **self._values(declared),
            "CODEBUILD_BUILD_ARN": record["arn"],
            "CODEBUILD_BUILD_ID": record["id"],
            "CODEBUILD_BUILD_NUMBER": str(record["buildNumber"]),
            "CODEBUILD_INITIATOR": record["initiator"],
            "CODEBUILD_SRC_DIR": str(source),
            "CODEBUILD_START_TIME": str(int(record["startTime"] * 1000)),
        }

    def _values(self, variables: Iterable[Mapping[str, str]]) -> dict[str, str]:
        values = {}
        for variable in variables:
            kind, value = variable.get("type", "PLAINTEXT"), variable["value"]
            if kind == "SECRETS_MANAGER":
                raise InvalidInputError(f"{variable['name']}: the local cloud has no variables of type SECRETS_MANAGER")
            values[variable["name"]] = self._parameter(value) if kind == "PARAMETER_STORE" else value
        return values

    def _parameter(self, name: str) -> str:
        try:
            return self._clients.ssm.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
        except ClientError as error:
            raise InvalidInputError(f"parameter {name} cannot be read: {error}") from error


def _record(project: Record, parameters: Parameters, number: int, build_uuid: str, log_path: Path) -> Record:
    name = project["name"]
    source = dict(project["source"])
    overrides = {"type": "sourceTypeOverride", "location": "sourceLocationOverride", "buildspec": "buildspecOverride"}
    source.update({key: parameters[override] for key, override in overrides.items() if override in parameters})
    minutes = parameters.get("timeoutInMinutesOverride", project.get("timeoutInMinutes", _DEFAULT_TIMEOUT_MINUTES))
    return {
        "id": f"{name}:{build_uuid}",
        "arn": f"arn:aws:codebuild:{REGION}:{ACCOUNT_ID}:build/{name}:{build_uuid}",
        "buildNumber": number,
        "startTime": now(),
        "currentPhase": "SUBMITTED",
        "buildStatus": "IN_PROGRESS",
        "buildComplete": False,
        "projectName": name,
        "phases": [],
        "source": source,
        "environment": project["environment"],
        "timeoutInMinutes": minutes,
        "initiator": "local-cloud",
        "logs": {
            "groupName": f"/aws/codebuild/{name}",
            "streamName": build_uuid,
            # On a laptop the file is the link worth following.
            "deepLink": log_path.as_uri(),
        },
    }


def _buildspec(source: Mapping[str, Any], directory: Path) -> Buildspec:
    """The buildspec of a source: written out in the project, or a file of the source.

    Raises:
        BuildspecError: no such file, or malformed.
    """
    text: str = source.get("buildspec") or "buildspec.yml"
    if "\n" in text or text.lstrip().startswith("{"):
        return parse_buildspec(text)
    file = directory / text
    if not file.is_file():
        found = ", ".join(sorted(path.name for path in directory.iterdir())) or "nothing"
        raise BuildspecError(f"YAML_FILE_ERROR: stat {text}: no such file or directory; the source holds {found}")
    return parse_buildspec(file.read_text())


def build_environment(commands: Path, client_settings: Mapping[str, str]) -> dict[str, str]:
    """What every build starts from: our `docker` first on PATH, then this Python; the cloud as the only AWS."""
    inherited = {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}
    # Network settings of this machine, which a build needs as much as its owner's shell does.
    network = {
        name: value
        for name, value in os.environ.items()
        if name.lower() in ("http_proxy", "https_proxy", "ssl_cert_file", "requests_ca_bundle", "hf_endpoint")
        or name.startswith("PIP_")
    }
    return {
        **inherited,
        **network,
        **client_settings,
        "PATH": os.pathsep.join((str(commands), inherited.get("PATH", os.defpath))),
        "PYTHONUNBUFFERED": "1",
        "CODEBUILD_CI": "true",
    }
