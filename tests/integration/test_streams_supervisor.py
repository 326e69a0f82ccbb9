"""What watches over the stages: starts a failed one again, gives up on a hopeless one, leaves none behind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from stage_processes import StageProcess, environment, ready, until

from memstream.settings import Settings, load
from memstream.streams import supervisor
from memstream.streams.supervisor import Supervisor


def script(tmp_path: Path, body: str) -> supervisor.Command:
    """A stage that runs this Python; `runs` counts its starts by a file."""
    runs = tmp_path / "runs"
    runs.touch()
    code = f"import os, sys\nopen({str(runs)!r}, 'a').write('x')\nruns = os.path.getsize({str(runs)!r})\n{body}"

    def command(_stage: str, _instance: str) -> Sequence[str]:
        return (sys.executable, "-c", code)

    return command


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a data directory of this test's own."""
    return load(data_dir=tmp_path)


def test_a_stage_that_fails_each_time_is_given_up_with_a_reason(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """After eight quick failures in a row the worker ends with exit code 1 and says what to do."""
    monkeypatch.setattr(supervisor, "_PAUSES", (0.01,))
    assert Supervisor(settings, ("extract",), command=script(tmp_path, "sys.exit(3)")).run() == 1
    assert (tmp_path / "runs").read_text() == "x" * 8
    said = capfd.readouterr().err
    assert "gave_up" in said
    assert "start the worker again when that is mended" in said


def test_a_stage_that_was_killed_is_started_again_for_ever(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Being killed is no failure of its own: ten kills do not make the supervisor give up."""
    monkeypatch.setattr(supervisor, "_PAUSES", (0.01,))
    body = "import signal\nos.kill(os.getppid() if runs > 10 else os.getpid(), signal.SIGTERM if runs > 10 else 9)"
    assert Supervisor(settings, ("extract",), command=script(tmp_path, body)).run() == 0
    assert (tmp_path / "runs").read_text() == "x" * 11


def test_two_workers_on_one_machine_have_different_names(settings: Settings) -> None:
    """Members of a group need names of their own, and the same again after a restart."""
    with supervisor.instance_name(settings, "sink") as first:
        with supervisor.instance_name(settings, "sink") as second:
            assert first != second
        with supervisor.instance_name(settings, "sink") as third:
            assert third == second
    with supervisor.instance_name(settings, "sink") as again:
        assert again == first


async def test_stages_end_when_the_supervisor_is_killed(own_settings: Settings, tmp_path: Path) -> None:
    """A kill -9 of the supervisor leaves nothing behind: each stage stops cleanly by itself."""
    env = environment(own_settings, MEMSTREAM_EXTRACT_PROCESSES="1")
    worker = await StageProcess.supervised(tmp_path / "worker.log", env)
    for port in (own_settings.metrics_port_extract, own_settings.metrics_port_sink):
        await until(lambda port=port: ready(port), 90, "both stages are ready")  # type: ignore[misc]
    descendants = psutil.Process(worker.process.pid).children(recursive=True)
    assert len(descendants) == 3  # two stages and a child of the pool
    await worker.kill()

    async def all_gone() -> bool:
        return not any(process.is_running() for process in descendants)

    await until(all_gone, 40, "all are gone")
    assert worker.said().count("stopped ") == 2
    assert "Traceback" not in worker.said()
