"""The settings: their sources and their order, their errors, and that secrets stay hidden."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from memstream.settings import Settings, SettingsError, load
from memstream.settings.kafka import kafka_options
from memstream.settings.table import describe, unknown_variables


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("MEMSTREAM_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def _write_stack(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "stack.env").write_text(text)


def test_defaults_need_no_environment(tmp_path: Path) -> None:
    """With nothing set, the local addresses hold and folders lie under the data directory, absolutely."""
    settings = load()
    assert settings.kafka_bootstrap == "127.0.0.1:9092"
    assert settings.data_dir == tmp_path / ".memstream"
    assert settings.offload_url == (tmp_path / ".memstream" / "offload").as_uri()
    assert settings.query_url == "http://127.0.0.1:8700"
    assert settings.neo4j_auth is None


def test_stack_file_lies_below_the_environment_and_above_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable wins over stack.env, which wins over the default."""
    _write_stack(
        tmp_path / ".memstream",
        "MEMSTREAM_KAFKA_BOOTSTRAP=127.0.0.1:9999\nMEMSTREAM_NEO4J_PASSWORD=from-file\nMEMSTREAM_UNHEARD_OF=1\n",
    )
    monkeypatch.setenv("MEMSTREAM_KAFKA_BOOTSTRAP", "broker:1")
    settings = load()
    assert settings.kafka_bootstrap == "broker:1"
    assert settings.neo4j_auth == ("neo4j", "from-file")
    assert settings.topic_prefix == "memory"


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_stack_file_is_read_from_the_data_dir_that_is_named(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """data_dir, by argument or variable, decides which stack.env is read."""
    _write_stack(tmp_path / "other", "MEMSTREAM_NEO4J_URI=bolt://127.0.0.1:4444\n")
    if how == "variable":
        monkeypatch.setenv("MEMSTREAM_DATA_DIR", "other")
    settings = load(data_dir="other") if how == "argument" else load()
    assert settings.neo4j_uri == "bolt://127.0.0.1:4444"


def test_settings_are_frozen() -> None:
    """Nobody changes a setting after loading."""
    settings = load()
    with pytest.raises(ValidationError, match="frozen"):
        settings.partitions = 3  # type: ignore[misc]


def test_secrets_are_masked_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither repr nor the table shows a password."""
    monkeypatch.setenv("MEMSTREAM_NEO4J_PASSWORD", "swordfish")
    settings = load()
    assert "swordfish" not in repr(settings)
    assert "swordfish" not in str(describe(settings))


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("MEMSTREAM_KAFKA_BOOTSTRAP", "localhost", "not host:port"),
        ("MEMSTREAM_KAFKA_BOOTSTRAP", "a:1,b:99999", "'b:99999' is not host:port"),
        ("MEMSTREAM_NEO4J_URI", "http://localhost", "bolt"),
        ("MEMSTREAM_NEO4J_URI", "bolt://u:secret@h", "MEMSTREAM_NEO4J_PASSWORD"),
        ("MEMSTREAM_PARTITIONS", "many", "MEMSTREAM_PARTITIONS"),
        ("MEMSTREAM_TOPIC_PREFIX", "a/b", "letters, digits"),
        ("MEMSTREAM_EMBEDDER", "word2vec", "none of minilm"),
        ("MEMSTREAM_EMBEDDER", "openai:http://h/v1#m", "openai:URL#MODEL#DIMS"),
        ("MEMSTREAM_QUERY_URL", "127.0.0.1:8700", "http://"),
        ("MEMSTREAM_KAFKA_SECURITY_PROTOCOL", "SASL_SSL", "MEMSTREAM_KAFKA_SASL_USERNAME"),
        ("MEMSTREAM_KAFKA_SSL_CERTFILE", "x.pem", "together"),
    ],
)
def test_an_error_names_the_variable_and_what_it_should_be(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong setting is a SettingsError that a person can act on, without the value of a secret."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        load()
    assert variable in str(caught.value)
    assert says in str(caught.value)
    assert "secret@" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["minilm", "none", "sentence-transformers:all-mpnet-base-v2", "openai:http://127.0.0.1:1/v1#m#768"]
)
def test_embedders_that_are_understood(value: str) -> None:
    """Each form of the embedder setting is taken as it is."""
    assert load(embedder=value).embedder == value


def test_the_table_tells_source_and_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field has a row with a description; the row says where its value comes from."""
    _write_stack(tmp_path / ".memstream", "MEMSTREAM_NEO4J_URI=bolt://127.0.0.1:4444\n")
    monkeypatch.setenv("MEMSTREAM_SINK_BATCH", "7")
    rows = {row.variable: row for row in describe(load())}
    assert len(rows) == len(Settings.model_fields)
    assert all(row.description for row in rows.values())
    assert (rows["MEMSTREAM_SINK_BATCH"].source, rows["MEMSTREAM_SINK_BATCH"].value) == ("environment", "7")
    assert rows["MEMSTREAM_NEO4J_URI"].source == "stack.env"
    assert rows["MEMSTREAM_LOG_JSON"].default == rows["MEMSTREAM_LOG_JSON"].value == "false"


def test_misspelt_variables_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A MEMSTREAM_ variable that nothing reads is reported with the one that was probably meant."""
    monkeypatch.setenv("MEMSTREAM_KAFKA_BOOTSRAP", "x:1")
    for known in ("MEMSTREAM_DEBUG", "MEMSTREAM_SHARED", "MEMSTREAM_HTTP_PORT", "MEMSTREAM_PART_TOKEN"):
        monkeypatch.setenv(known, "1")
    assert unknown_variables() == {"MEMSTREAM_KAFKA_BOOTSRAP": "MEMSTREAM_KAFKA_BOOTSTRAP"}


def test_kafka_options_carry_the_login() -> None:
    """SASL settings become the arguments of aiokafka; without them only address and protocol are given."""
    plain = kafka_options(load())
    assert plain == {"bootstrap_servers": "127.0.0.1:9092", "security_protocol": "PLAINTEXT"}
    login = kafka_options(
        load(
            kafka_security_protocol="SASL_SSL",
            kafka_sasl_mechanism="SCRAM-SHA-512",
            kafka_sasl_username="me",
            kafka_sasl_password="pw",
        )
    )
    assert login["sasl_plain_password"] == "pw"
    assert login["sasl_mechanism"] == "SCRAM-SHA-512"
    assert login["ssl_context"] is not None


def test_an_unreadable_certificate_is_a_settings_error() -> None:
    """A CA file that isn't there is named in the error."""
    with pytest.raises(SettingsError, match=r"missing\.pem"):
        kafka_options(load(kafka_security_protocol="SSL", kafka_ssl_cafile="missing.pem"))
