"""What needs a time-out shorter than CodeBuild's shortest, five minutes."""

import os
import time

from local_cloud.build import BuildRun, Status
from local_cloud.buildspec import parse_buildspec
from local_cloud.log_stream import LogStream


def test_build_over_its_time_is_ended_and_says_in_which_command(workshop, tmp_path, unique, processes_with):
    mark = unique("mark")
    spec = parse_buildspec("version: 0.2\nphases: {build: {commands: [echo one, sleep 600], finally: [echo never]}}\n")
    log = LogStream(tmp_path / "log", mark, mark, workshop.client("logs"))
    results = []
    for directory in ("source", "control"):
        (tmp_path / directory).mkdir()
    environment = {"PATH": os.environ["PATH"], "MARK": mark}
    run = BuildRun(
        spec,
        tmp_path / "source",
        tmp_path / "control",
        environment,
        1.0,
        log,
        lambda _, result: results.append(result),
    )

    started = time.monotonic()
    status = run.run()

    log.close()
    assert status is Status.TIMED_OUT
    assert time.monotonic() - started < 8
    assert results[-1].message == "Ended while executing command: sleep 600. Reason: time-out of 1 s"
    assert "never" not in (tmp_path / "log").read_text().splitlines()
    assert not processes_with(mark)
