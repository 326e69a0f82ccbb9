"""The store of whole results."""

from __future__ import annotations

import concurrent.futures
from pathlib import Path

import fsspec
import pytest

from memstream.schemas.errors import InvalidInput, SettingsError
from memstream.streams.offload import OffloadDamaged, OffloadMissing, OffloadStore, OffloadUnavailable

DATA = b"a whole result\x00\xff" * 1_000
EVENT = "e" * 32


@pytest.fixture
def store(tmp_path: Path) -> OffloadStore:
    """A store in a folder that does not exist yet."""
    return OffloadStore((tmp_path / "offload").as_uri())


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_put_can_be_fetched(store: OffloadStore, tmp_path: Path) -> None:
    """The handle gives the bytes back; putting them again changes nothing; no half file is left."""
    handle = store.put("acme/a", EVENT, DATA)
    [path] = files(tmp_path)
    before = path.stat().st_mtime_ns
    assert store.put("acme/a", EVENT, DATA) == handle
    assert path.stat().st_mtime_ns == before
    assert store.fetch(handle) == DATA
    assert files(tmp_path) == [path]


def test_scopes_share_nothing(store: OffloadStore) -> None:
    """The same bytes in two scopes are two handles: erasing one leaves the other, guessing one opens no other."""
    assert store.put("acme/a", EVENT, DATA) != store.put("acme/b", EVENT, DATA)


def test_events_share_nothing(store: OffloadStore) -> None:
    """What the erasure of one event takes out is not what another one keeps, though they have the same bytes."""
    one, other = store.put("acme/a", EVENT, DATA), store.put("acme/a", "f" * 32, DATA)
    store.delete(one)
    assert store.fetch(other) == DATA
    assert store.all("acme/a") == [other]


def test_what_was_stored_without_an_event_is_still_found(store: OffloadStore, tmp_path: Path) -> None:
    """Handles were of the scope and the hash alone."""
    handle = store.put("acme/a", EVENT, DATA)
    former = handle.replace(f"{EVENT}-", "")
    [path] = files(tmp_path)
    old = path.parents[1] / former.rpartition("/")[2][:2] / former.rpartition("/")[2]
    old.parent.mkdir(exist_ok=True)
    path.rename(old)
    assert store.fetch(former) == DATA
    assert store.all("acme/a") == [former]
    store.delete(former)
    assert store.all("acme/a") == []


def test_a_damaged_file_is_told_and_mended_by_the_next_put(store: OffloadStore, tmp_path: Path) -> None:
    """A hash that does not fit is an error with a name; a file of another size is written anew."""
    handle = store.put("acme/a", EVENT, DATA)
    [path] = files(tmp_path)
    path.write_bytes(DATA[:-1])
    with pytest.raises(OffloadDamaged, match="another hash"):
        store.fetch(handle)
    store.put("acme/a", EVENT, DATA)
    assert store.fetch(handle) == DATA


def test_a_handle_is_checked(store: OffloadStore) -> None:
    """Neither a path nor a foreign handle reaches the file system."""
    for bad in ("../../etc/passwd", "", "z" + "0" * 32, "z" + "0" * 32 + "/../" + "0" * 64):
        with pytest.raises(InvalidInput, match="no handle"):
            store.fetch(bad)
    with pytest.raises(OffloadMissing):
        store.fetch("z" + "0" * 32 + "/" + "0" * 64)


def test_a_store_that_takes_nothing_is_transient(tmp_path: Path) -> None:
    """Where a file stands in the way of the folder the error is one to try again, and names the path."""
    (tmp_path / "offload").write_text("in the way")
    store = OffloadStore((tmp_path / "offload").as_uri())
    with pytest.raises(OffloadUnavailable, match="offload"):
        store.put("acme/a", EVENT, DATA)


def test_an_unknown_kind_of_store_is_a_setting_to_mend() -> None:
    """The error says which URL can't be used."""
    with pytest.raises(SettingsError, match="nosuch://"):
        OffloadStore("nosuch://bucket/x")


def test_other_file_systems_work_too() -> None:
    """Anything that fsspec knows; here its memory file system."""
    store = OffloadStore("memory://offload-test")
    handle = store.put("acme/a", EVENT, DATA)
    assert store.put("acme/a", EVENT, DATA) == handle
    assert store.fetch(handle) == DATA
    fsspec.filesystem("memory").rm("/offload-test", recursive=True)


def test_many_writers_of_one_result_agree(store: OffloadStore, tmp_path: Path) -> None:
    """Processes that offload the same result at once leave one whole file."""
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        handles = set(threads.map(lambda _: store.put("acme/a", EVENT, DATA), range(40)))
    assert len(handles) == 1
    assert store.fetch(handles.pop()) == DATA
    assert len(files(tmp_path)) == 1


def test_what_is_deleted_is_gone_and_all_that_a_scope_has_is_listed(store: OffloadStore) -> None:
    """Deleting twice is deleting once; another scope's bytes stay; a foreign handle deletes nothing."""
    first, second = store.put("acme/a", EVENT, DATA), store.put("acme/a", EVENT, DATA[1:])
    other = store.put("acme/b", EVENT, DATA)
    assert store.all("acme/a") == sorted([first, second])
    store.delete(first)
    store.delete(first)
    assert store.all("acme/a") == [second]
    assert store.fetch(other) == DATA
    assert store.all("acme/none") == []
    with pytest.raises(OffloadMissing, match="erased"):
        store.fetch(first)
    with pytest.raises(InvalidInput, match="no handle"):
        store.delete("../../etc/passwd")
