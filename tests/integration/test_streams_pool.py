"""The pool with real child processes: they die, hang, are killed, and every record still gets its result."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pool_workers
import psutil
import pytest

from memstream.schemas.errors import FatalError
from memstream.streams.pool import Patience, Pool
from memstream.streams.records import Record, SessionResult, SessionWork

SUPPORT = Path(pool_workers.__file__).parent

MakePool = Callable[..., Pool]


@pytest.fixture
async def make_pool(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MakePool]:
    """Pools of two children, closed at the end."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    pools: list[Pool] = []

    def make(worker: str = "Workers", patience: Patience | None = None) -> Pool:
        pools.append(Pool(getattr(pool_workers, worker), 2, pool_workers.refuse, patience))
        return pools[-1]

    yield make
    for pool in pools:
        await pool.close()


def work(key: str, *values: str, state: bytes = b"") -> SessionWork:
    """A session with these values in its records."""
    records = [
        Record("conversation", 0, number, 0, key.encode(), value.encode()) for number, value in enumerate(values)
    ]
    return SessionWork(key.encode(), state, records)


def told(results: list[SessionResult]) -> list[list[str]]:
    """What each record became: its patch, or its reason."""
    return [
        [(output.patch or b"").decode() if output.refusal is None else "refused" for output in result.outputs]
        for result in results
    ]


async def test_results_come_in_the_order_of_the_sessions(make_pool: MakePool) -> None:
    """Chunks go to whichever child is free; results come back in the order of the work."""
    works = [work(f"k{number}", *(["x" * (number * 37 % 11 + 1)] * (number % 4 + 1))) for number in range(40)]
    results = await make_pool().process(works)
    assert [result.key for result in results] == [item.key for item in works]
    assert told(results) == [[(record.value or b"").decode().upper() for record in item.records] for item in works]


async def test_a_record_that_kills_its_child_is_refused_alone(make_pool: MakePool) -> None:
    """The sessions beside it and the records before and after it get their results, with the state carried across."""
    works = [work("a", "one", "two"), work("b", "one", "die", "three", state=b"zero"), work("c", "one")]
    results = await make_pool().process(works)
    assert told(results) == [["ONE", "TWO"], ["ONE", "refused", "THREE"], ["ONE"]]
    assert [result.state for result in results] == [b"onetwo", b"zeroonethree", b"one"]


async def test_a_record_at_which_a_child_dies_once_is_not_refused(make_pool: MakePool, tmp_path: Path) -> None:
    """One death may be the fault of another: memory, a person with kill -9."""
    results = await make_pool().process([work("a", f"once:{tmp_path / 'died'}")])
    assert results[0].outputs[0].refusal is None


async def test_a_hanging_child_is_killed_and_its_record_refused(make_pool: MakePool) -> None:
    """A hang costs its patience and no other record."""
    pool = make_pool(patience=Patience(seconds=1.0, per_kilobyte=0.0))
    results = await pool.process([work("a", "one"), work("b", "hang"), work("c", "three")])
    assert told(results) == [["ONE"], ["refused"], ["THREE"]]
    refusal = results[1].outputs[0].refusal
    assert refusal is not None
    assert "did not answer within 1 s" in refusal.message


async def test_children_killed_from_outside_cost_nothing(make_pool: MakePool) -> None:
    """A kill -9 of every child in the middle of its work: each record still gets its result."""
    pool = make_pool()
    await pool.warm_up()
    works = [work(f"k{number}", "slow", "b") for number in range(8)]
    running = asyncio.ensure_future(pool.process(works))
    await asyncio.sleep(0.1)
    for pid in pool.pids:
        os.kill(pid, signal.SIGKILL)
    assert told(await running) == [["SLOW", "B"]] * 8


async def test_a_bug_is_fatal(make_pool: MakePool) -> None:
    """An error that nobody foresaw stops the process: a bug must not empty a topic into the dead letters."""
    with pytest.raises(FatalError, match="RuntimeError: a bug"):
        await make_pool().process([work("a", "bug")])


async def test_models_that_cannot_be_loaded_are_fatal(make_pool: MakePool) -> None:
    """The message has the child's reason."""
    with pytest.raises(FatalError, match="no model here"):
        await make_pool("Unloadable").warm_up()


async def test_what_is_away_for_a_moment_is_asked_again(make_pool: MakePool, tmp_path: Path) -> None:
    """A transient error is waited out, and the record is not refused."""
    results = await make_pool().process([work("a", f"away:{tmp_path / 'away'}")])
    assert results[0].outputs[0].refusal is None


async def test_the_loop_turns_while_children_work(make_pool: MakePool) -> None:
    """The event loop only awaits: a consumer whose loop stands still loses its partitions."""
    pool = make_pool()
    await pool.warm_up()
    running = asyncio.ensure_future(pool.process([work(f"k{number}", "slow") for number in range(6)]))
    loop, turns = asyncio.get_running_loop(), 0
    started = loop.time()
    while not running.done():
        await asyncio.sleep(0.005)
        turns += 1
    assert loop.time() - started > 0.5
    assert turns > 20


async def test_children_do_not_outlive_their_parent(make_pool: MakePool, tmp_path: Path) -> None:
    """A kill -9 of the parent ends its children, even one that hangs."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio, pool_workers\n"
        "from memstream.streams.pool import Pool\n"
        "from memstream.streams.records import Record, SessionWork\n"
        "async def main():\n"
        "    pool = Pool(pool_workers.Workers, 2, pool_workers.refuse)\n"
        "    await pool.warm_up()\n"
        "    print(*pool.pids, flush=True)\n"
        "    await pool.process([SessionWork(b'a', b'', [Record('conversation', 0, 0, 0, b'a', b'hang')])])\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, str(script), stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    children = [psutil.Process(int(pid)) for pid in (await parent.stdout.readline()).split()]
    parent.kill()
    await parent.wait()
    deadline = asyncio.get_running_loop().time() + 10
    while any(child.is_running() for child in children):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.05)
