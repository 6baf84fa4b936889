"""Starting, finding and stopping clouds, in one clone and in two."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cloud.cloud import Cloud, client_environment, discover, start, stop
from local_cloud.errors import AlreadyRunningError

ROOT = Path(__file__).parents[2]


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local_cloud", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def buckets(workshop) -> list[str]:
    return [bucket["Name"] for bucket in workshop.client("s3").list_buckets()["Buckets"]]


def test_two_clouds_run_side_by_side(cloud, make_workshop, tmp_path):
    with start(tmp_path, detached=False) as second:
        one, other = make_workshop(cloud), make_workshop(second)
        other.client("s3").create_bucket(Bucket="only-in-the-second")

        assert second.port != cloud.port
        assert buckets(other) == ["only-in-the-second"]
        assert "only-in-the-second" not in buckets(one)
    assert discover(tmp_path) is None


def test_second_start_in_one_clone_says_what_runs_and_how_to_stop_it(cloud):
    with pytest.raises(AlreadyRunningError) as caught:
        start(cloud.state_dir, detached=False)

    for part in (str(cloud.pid), str(cloud.port), "make local-down"):
        assert part in str(caught.value)


def test_of_two_starts_at_once_one_wins(tmp_path):
    def try_to_start(_: int) -> Cloud | None:
        try:
            return start(tmp_path, detached=False)
        except AlreadyRunningError:
            return None

    with ThreadPoolExecutor(2) as pool:
        clouds = [cloud for cloud in pool.map(try_to_start, range(2)) if cloud is not None]

    assert len(clouds) == 1
    clouds[0].stop()


def test_command_line_starts_finds_and_stops(tmp_path, eventually, processes_with):
    up = command_line("up", "--empty", "--state-dir", str(tmp_path))
    status = command_line("status", "--state-dir", str(tmp_path))
    again = command_line("up", "--empty", "--state-dir", str(tmp_path))
    down = command_line("down", "--state-dir", str(tmp_path))

    assert up.returncode == 0, up.stderr
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:" in status.stdout
    assert again.returncode == 1
    assert again.stderr.startswith("error: a local cloud runs in")
    assert down.stderr == "Stopped.\n"
    assert command_line("status", "--state-dir", str(tmp_path)).returncode == 1
    eventually(lambda: not processes_with(str(tmp_path)))


def test_nothing_survives_a_killed_cloud_and_the_next_start_is_clean(
    tmp_path, make_workshop, eventually, processes_with
):
    cloud = start(tmp_path / "state", detached=True)
    workshop = make_workshop(cloud)
    context = tmp_path / "context"
    context.mkdir()
    model = workshop.model(workshop.image(context), workshop.archive(**{"model.gguf": b"x"}))
    workshop.endpoint(workshop.config(model))
    assert any("serve" in command for command in processes_with(str(cloud.state_dir)))

    os.kill(cloud.pid, signal.SIGKILL)

    eventually(lambda: not processes_with(str(cloud.state_dir)))
    cloud.stop()
    assert discover(cloud.state_dir) is None
    with start(cloud.state_dir, detached=False) as restarted:
        assert make_workshop(restarted).client("sagemaker").list_endpoints()["Endpoints"] == []
        assert not (cloud.state_dir / "logs" / "endpoints").exists()


def test_stopping_what_does_not_run_is_no_error(tmp_path):
    assert stop(tmp_path) is False


def test_client_environment_has_no_other_aws_settings(cloud, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    monkeypatch.setenv("NO_PROXY", "intranet")

    environment = client_environment(cloud)

    assert "AWS_PROFILE" not in environment
    assert "AWS_SESSION_TOKEN" not in environment
    assert environment["AWS_ENDPOINT_URL"] == cloud.endpoint_url
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost"


def test_access_key_is_one_of_this_cloud_alone(cloud):
    other = Cloud(cloud.state_dir, cloud.port + 1, cloud.pid)

    keys = {client_environment(one)["AWS_ACCESS_KEY_ID"] for one in (cloud, other)}

    assert len(keys) == 2


def test_everything_is_written_under_the_state_directory(cloud):
    environment = Path(f"/proc/{cloud.pid}/environ").read_text()
    variables = dict(line.partition("=")[::2] for line in environment.split("\0") if line)

    for name in ("TMPDIR", "STATE_DIR", "S3_DATA_DIR"):
        assert Path(variables[name]).is_relative_to(cloud.state_dir)
    assert Path(f"/proc/{cloud.pid}/cwd").resolve().is_relative_to(cloud.state_dir)


def test_stopping_does_not_wait_for_containers_that_are_still_starting(tmp_path, make_workshop, processes_with):
    with start(tmp_path / "state", detached=False) as cloud:
        workshop = make_workshop(cloud)
        (tmp_path / "context").mkdir()
        image = workshop.image(tmp_path / "context")
        model = workshop.model(image, workshop.archive(**{"model.gguf": b"x"}), STUB_UNHEALTHY="forever")
        workshop.client("sagemaker").create_endpoint(
            EndpointName="never-healthy", EndpointConfigName=workshop.config(model)
        )
        started = time.monotonic()

    assert time.monotonic() - started < 15
    assert not processes_with(str(cloud.state_dir))


def test_stopping_does_not_wait_for_a_stack_under_way(tmp_path, make_workshop, eventually, processes_with):
    # A function that never answers for its custom resource: CloudFormation waits for an hour.
    function = {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Code": {"ZipFile": "def handler(event, context):\n    pass\n"},
            "Handler": "index.handler",
            "Role": "arn:aws:iam::000000000000:role/function",
            "Runtime": "python3.12",
        },
    }
    custom = {"Type": "Custom::Unanswered", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}}}
    with start(tmp_path, detached=False) as cloud:
        cloudformation = make_workshop(cloud).client("cloudformation")
        body = json.dumps({"Resources": {"Function": function, "Custom": custom}})
        cloudformation.create_stack(StackName="waits", TemplateBody=body)
        eventually(lambda: any("_worker.py" in command for command in processes_with(str(tmp_path))))
        started = time.monotonic()

    assert time.monotonic() - started < 15
    assert not processes_with(str(tmp_path))


def test_state_directory_may_have_a_space_in_its_name(tmp_path, make_workshop):
    (tmp_path / "context").mkdir()

    with start(tmp_path / "a clone", detached=False) as cloud:
        assert "@sha256:" in make_workshop(cloud).image(tmp_path / "context")
