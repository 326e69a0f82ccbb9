"""The frame of the command line: lazy commands, help with examples, errors without tracebacks."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memstream.cli.lazy import load_command
from memstream.cli.main import app
from memstream.cli.table import COMMANDS, Entry

_BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
from memstream.cli.main import main
sys.argv = ["memstream", *{words!r}]
main()
"""


def _run(
    *words: str, blocked: tuple[str, ...] = (), cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    return _python(_BLOCK.format(blocked=set(blocked), words=words), cwd=cwd, **env)


def _python(code: str, *words: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTREAM_")}
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**clean, "COLUMNS": "200", "TERM": "dumb", **env},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_help_lists_the_commands_without_importing_them() -> None:
    """`memstream --help` works where no extra is installed."""
    told = _run("--help", blocked=("neo4j", "psutil", "faust", "spacy", "fastapi", "uvicorn", "numpy", "onnxruntime"))
    assert told.returncode == 0, told.stderr
    there = [entry for entry in COMMANDS if importlib.util.find_spec(entry.target.partition(":")[0])]
    for entry in there:
        assert entry.name in told.stdout
        assert entry.help in told.stdout


def test_no_words_show_the_help() -> None:
    """`memstream` alone says what there is."""
    assert "Usage: memstream" in _run().stdout + _run().stderr


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_each_command_resolves_and_has_help_with_an_example(entry: Entry) -> None:
    """Each entry of the table leads to a command, or a group of them, whose help shows how it is used."""
    command = load_command(entry)
    assert command.name == entry.name
    for words in [[entry.name, name] for name in getattr(command, "commands", {})] or [[entry.name]]:
        told = CliRunner().invoke(app, [*words, "--help"], prog_name="memstream", env={"COLUMNS": "200"})
        assert told.exit_code == 0, told.output
        assert f"Usage: memstream {' '.join(words)}" in told.stdout
        assert "Example" in told.stdout
        assert f"memstream {' '.join(words)}" in told.stdout.split("Example")[1]


def test_a_missing_extra_is_told_with_the_command_that_installs_it() -> None:
    """Without the extra a command says which one it needs, and ends with 1."""
    told = _run("up", blocked=("neo4j",))
    assert told.returncode == 1
    assert "pip install 'memstream[streams]'" in told.stderr
    assert "Traceback" not in told.stderr


def test_an_error_of_ours_is_a_message_and_exit_code_1(tmp_path: Path) -> None:
    """No traceback, unless it is asked for."""
    told = _run("settings", MEMSTREAM_PARTITIONS="many")
    assert told.returncode == 1
    assert "MEMSTREAM_PARTITIONS" in told.stderr
    assert "Traceback" not in told.stderr
    assert "Traceback" in _run("--debug", "settings", MEMSTREAM_PARTITIONS="many").stderr


def test_an_unknown_command_suggests_the_nearest() -> None:
    """A slip of the finger is answered with exit code 2."""
    told = _run("stauts")
    assert told.returncode == 2
    assert "stauts" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_version_is_told() -> None:
    """`--version` prints name and number."""
    assert _run("--version").stdout.startswith("memstream 0.")


_WARN = """
import logging, sys
from memstream.cli.main import main
import memstream.cli.settings as command
names = ("aiokafka.conn", "neo4j.pool")
command.load = lambda: [logging.getLogger(name).warning(f"{name} tries again") for name in names]
command.describe = lambda settings: []
main()
"""


@pytest.mark.parametrize("debug", [False, True])
def test_the_libraries_logs_are_shown_on_demand(debug: bool) -> None:
    """The clients of Kafka and Neo4j warn at every attempt: nobody sees it, unless with --debug."""
    told = _python(_WARN, *(["--debug"] if debug else []), "settings")
    assert told.returncode == 0, told.stderr
    assert ("aiokafka.conn tries again" in told.stderr, "neo4j.pool tries again" in told.stderr) == (debug, debug)


def test_a_program_without_logging_sees_no_line_for_every_attempt() -> None:
    """A publisher's program that has configured no logging is not flooded; one that has gets every line."""
    warn = 'import logging, memstream.client\n{0}\nlogging.getLogger("aiokafka.conn").warning("tries again")'
    assert "tries again" not in _python(warn.format("")).stderr
    assert "tries again" in _python(warn.format("logging.basicConfig()")).stderr


def test_logs_are_shown_of_parts_that_were_stopped(tmp_path: Path) -> None:
    """After `down` the files are there and nothing runs; a part without one is told which have one."""
    assert "There is no log of any part. `memstream up`" in _run("logs", cwd=tmp_path).stderr
    folder = tmp_path / ".memstream" / "logs"
    folder.mkdir(parents=True)
    (folder / "kafka.log").write_text("shut down\n")
    (folder / "kafka.log.1").write_text("an earlier one\n")
    assert _run("logs", cwd=tmp_path).stdout == "shut down\n"
    assert "There is no log of zebra. There are those of kafka." in _run("logs", "zebra", cwd=tmp_path).stderr


def test_settings_for_programs(tmp_path: Path) -> None:
    """`settings --json` is a list of rows; secrets stay hidden."""
    rows = json.loads(_run("settings", "--json", cwd=tmp_path, MEMSTREAM_NEO4J_PASSWORD="swordfish").stdout)
    mine = next(row for row in rows if row["variable"] == "MEMSTREAM_NEO4J_PASSWORD")
    assert (mine["value"], mine["source"]) == ("********", "environment")
    assert "MEMSTREAM_KAFKA_BOOTSTRAP" in _run("settings", cwd=tmp_path).stdout


@pytest.mark.parametrize("words", [["settings", "--json"], ["schemas", "list"]])
def test_every_command_points_out_a_misspelt_variable_once(tmp_path: Path, words: list[str]) -> None:
    """It would be ignored in silence otherwise; standard output stays as programs read it."""
    told = _run(*words, cwd=tmp_path, MEMSTREAM_PARTITONS="3", MEMSTREAM_DEBUG="1")
    assert told.returncode == 0
    assert (
        told.stderr.count("MEMSTREAM_PARTITONS is set, but nothing reads it; did you mean MEMSTREAM_PARTITIONS?") == 1
    )
    assert told.stderr.count("nothing reads it") == 1
    assert "nothing reads it" not in told.stdout
