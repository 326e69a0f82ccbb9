"""The stores of keys: one key for each subject and generation, gone for good when it is destroyed."""

from __future__ import annotations

import base64
import re
import stat
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from memstream.schemas.errors import SettingsError
from memstream.schemas.statement import Erased, ErasureKind
from memstream.sealing import KeyMissing, KeysPlace, KeysReadOnly, KeyStore, open_keys
from memstream.sealing.box import derived
from memstream.sealing.erasing import destroy_for
from memstream.sealing.file_keys import FileKeys
from memstream.settings import load

ID, OTHER = "ab" * 12, "cd" * 12


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a file of keys may lie."""
    return tmp_path / "below" / "keys.db"


def test_a_key_is_made_on_first_use_and_stays(path: Path) -> None:
    """Another process sees the same; only its owner may read the file."""
    first, second = FileKeys(str(path)), FileKeys(str(path))
    key = first.current("acme", "ana")
    assert second.current("acme", "ana") == key
    assert second.current("acme") != key
    assert first.get([key.id]) == second.get([key.id]) == [key]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key.secret.hex() not in repr(key)


def test_a_destroyed_key_is_gone_everywhere_and_its_subject_gets_another(path: Path) -> None:
    """The other process notices although it had it in memory; no byte of the secret is left in the file."""
    first, second = FileKeys(str(path)), FileKeys(str(path))
    key, kept = first.current("acme", "ana"), first.current("acme", "ben")
    assert second.get([key.id]) == [key]
    assert key.secret in path.read_bytes()
    assert first.destroy("acme", "ana").ids == (key.id,)
    assert second.get([key.id]) is None
    assert second.get([kept.id, key.id]) is None
    assert first.get([kept.id]) == [kept]
    assert key.secret not in b"".join(one.read_bytes() for one in path.parent.iterdir())
    anew = second.current("acme", "ana")
    assert anew.id != key.id
    told = [(row.subject, row.generation, row.destroyed is None) for row in first.rows("acme")]
    assert told == [("ana", 1, False), ("ana", 2, True), ("ben", 1, True)]
    assert first.destroy("acme", "nobody").ids == ()


def test_a_scope_goes_with_all_its_subjects_and_below_it_by_whole_segments(path: Path) -> None:
    """`acme/a` is not above `acme/ab`, whatever characters a scope has."""
    store = FileKeys(str(path))
    places = [("acme", ""), ("acme", "ana"), ("acme/a", "ana"), ("acme/ab", "ana"), ("acme_a/x", "ana"), ("acme%", "")]
    keys = {whose: store.current(*whose) for whose in places}
    assert store.destroy("acme/a", "ana", below=True).ids == (keys["acme/a", "ana"].id,)
    assert set(store.destroy("acme", "ana").ids) == {keys["acme", "ana"].id}
    gone = store.destroy("acme", None, below=True).ids
    assert set(gone) == {keys["acme", ""].id, keys["acme/ab", "ana"].id}
    assert store.get([keys["acme_a/x", "ana"].id, keys["acme%", ""].id]) is not None


def test_a_key_that_was_never_here_is_no_destroyed_one(path: Path) -> None:
    """What another store sealed is not passed over."""
    with pytest.raises(KeyMissing, match="MEMSTREAM_KEYS must name the file"):
        FileKeys(str(path)).get([ID])


def test_a_master_key_wraps_the_file(path: Path) -> None:
    """No secret lies in it as it is; without the master, or with another, the file is refused."""
    key = FileKeys(str(path), "one").current("acme", "ana")
    assert key.secret not in path.read_bytes()
    assert FileKeys(str(path), "one").get([key.id]) == [key]
    for wrong, said in ((None, "needs one"), ("two", "has another one")):
        with pytest.raises(SettingsError, match=said):
            FileKeys(str(path), wrong)
    FileKeys(str(path.parent / "plain.db"))
    with pytest.raises(SettingsError, match="was made without one"):
        FileKeys(str(path.parent / "plain.db"), "one")


def test_two_processes_make_one_key(path: Path) -> None:
    """Whoever comes second takes the first one's."""
    code = (
        "import sys; from memstream.sealing.file_keys import FileKeys; store = FileKeys(sys.argv[1])\n"
        "print([store.current('acme', f's{n}').id for n in range(50)])"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert len({one.communicate(timeout=60)[0] for one in running}) == 1
    assert [one.returncode for one in running] == [0, 0, 0]


def entry(one: str, subject: str, generation: int = 1, **more: str) -> dict[str, str | int]:
    """An entry of MEMSTREAM_KEYS_JSON."""
    return {"id": one, "scope": "acme", "subject": subject, "generation": generation, **more}


def provided(*entries: dict[str, str | int]) -> KeyStore:
    """The store of a variable."""
    store = KeysPlace("env:", told=orjson.dumps(entries).decode()).open()
    assert store is not None
    return store


def test_keys_of_the_environment_are_read_only() -> None:
    """To destroy one the message says which entry becomes what; a destroyed one is known as that."""
    secret = base64.b64encode(bytes(range(32))).decode()
    store = provided(entry(ID, "ana", key=secret))
    assert store.current("acme", "ana").secret == bytes(range(32))
    with pytest.raises(KeysReadOnly, match=f"replace the entries .*{ID}.*destroyed"):
        destroy_for(store, "acme", Erased(kind=ErasureKind.USER, ids=("ana",)))
    with pytest.raises(KeysReadOnly, match="generation 1 to MEMSTREAM_KEYS_JSON"):
        store.current("acme", "ben")
    with pytest.raises(KeyMissing, match=OTHER):
        store.get([OTHER])
    gone = provided(entry(ID, "ana", destroyed="2026-11-30"))
    assert gone.get([ID]) is None
    assert gone.destroy("acme", "ana").ids == ()
    with pytest.raises(KeysReadOnly, match="generation 2"):
        gone.current("acme", "ana")


@pytest.mark.parametrize("told", ["{", "[1]", "[{}]", '[{"id": "ab", "scope": "acme", "key": ""}]'])
def test_a_variable_that_holds_something_else_is_refused(told: str) -> None:
    """And no word of it is repeated: it may be half a secret."""
    with pytest.raises(SettingsError, match="MEMSTREAM_KEYS_JSON is no list"):
        KeysPlace("env:", told=told).open()


def test_only_erasures_of_all_that_a_key_seals_destroy_it(path: Path) -> None:
    """A person and a scope without a time limit; not a session, and not up to a time."""
    store = FileKeys(str(path))
    key = store.current("acme/below", "ana")
    until = "2026-03-01T09:00:00Z"
    for erased in (
        Erased(kind=ErasureKind.SESSION, ids=("s",), children=True),
        Erased.model_validate_json(orjson.dumps({"kind": "user", "ids": ["ana"], "until": until, "children": True})),
        Erased(kind=ErasureKind.USER, ids=("ana",)),
    ):
        assert destroy_for(store, "acme", erased) == ()
    assert destroy_for(store, "acme", Erased(kind=ErasureKind.USER, ids=("ana",), children=True)) == (key.id,)


def test_the_setting_names_a_store_or_nothing(tmp_path: Path) -> None:
    """Off by default; what is no store is refused with an example; secrets are masked."""
    assert open_keys(load()) is None
    for wrong in ("keys.db", "file://host/keys.db", "s3://bucket/keys"):
        with pytest.raises(SettingsError, match=re.escape("file:///var/lib/memstream/keys.db")):
            load(keys=wrong)
    told = load(keys=(tmp_path / "k.db").as_uri(), keys_master="very secret", keys_json="also")
    assert "very secret" not in repr(told)
    assert "very secret" not in repr(KeysPlace.of(told))
    assert open_keys(told) is not None
    with pytest.raises(SettingsError, match="can't be used"):
        open_keys(load(keys="file:///proc/nothing/keys.db"))


def test_what_is_not_installed_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base install has no cipher: the setting says at once what to install, for a file and for a variable."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    derived.cache_clear()
    for place in (KeysPlace(path.as_uri()), KeysPlace("env:", told="[]")):
        with pytest.raises(SettingsError, match=r"memstream\[encryption\]"):
            place.open()
