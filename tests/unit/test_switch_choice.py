"""The choice of a graph that `memstream switch` leaves for the query service, and how a second Neo4j is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from memstream.cli.second import second
from memstream.deploy import stackfile
from memstream.query.switch import Choice, choice_file, read_choice, write_choice
from memstream.schemas.errors import InvalidInput, SettingsError
from memstream.settings import Settings, load


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a data directory of this test's own."""
    return load(data_dir=tmp_path, neo4j_uri="bolt://127.0.0.1:7687", neo4j_password="here", query_port=8799)


def test_a_choice_is_read_as_it_was_written_by_its_owner_alone(settings: Settings) -> None:
    """With its password, which nobody else reads and no message shows; taken back, the settings count."""
    choice = Choice.of(settings.model_copy(update={"neo4j_uri": "bolt://127.0.0.1:7688"}))
    write_choice(settings, choice)
    assert read_choice(settings) == choice
    assert choice_file(settings).stat().st_mode & 0o777 == 0o600
    assert choice.auth == ("neo4j", "here")
    assert "here" not in repr(choice)
    write_choice(settings, None)
    assert read_choice(settings) is None


def test_services_on_one_data_directory_have_choices_of_their_own(settings: Settings) -> None:
    """By their port."""
    assert choice_file(settings) != choice_file(settings.model_copy(update={"query_port": 8800}))


def test_a_broken_choice_is_told_with_its_file(settings: Settings) -> None:
    """It is neither passed over nor a traceback."""
    choice_file(settings).write_text("{")
    with pytest.raises(SettingsError, match=r"query-8799\.json can't be read"):
        read_choice(settings)


def test_a_folder_names_its_own_neo4j_whatever_the_environment_says(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a command meant for the second one would reach the first."""
    monkeypatch.setenv("MEMSTREAM_NEO4J_URI", "bolt://127.0.0.1:7687")
    told = {"MEMSTREAM_NEO4J_URI": "bolt://127.0.0.1:7688", "MEMSTREAM_NEO4J_PASSWORD": "there"}
    stackfile.write(tmp_path / "second" / "stack.env", told)
    found, uri = second(settings, str(tmp_path / "second"))
    target = found.at(uri)
    assert (target.neo4j_uri, target.neo4j_auth) == ("bolt://127.0.0.1:7688", ("neo4j", "there"))


def test_an_address_is_taken_with_the_target_s_password(settings: Settings) -> None:
    """Else with the first one's."""
    found, uri = second(settings, "bolt://127.0.0.1:7688")
    assert found.at(uri).neo4j_auth == ("neo4j", "here")
    own = settings.model_copy(update={"target_user": "other", "target_password": SecretStr("there")})
    assert own.at(uri).neo4j_auth == ("other", "there")


def test_what_names_no_neo4j_is_refused(settings: Settings, tmp_path: Path) -> None:
    """A folder without a stack, for example."""
    with pytest.raises(InvalidInput, match="names no Neo4j"):
        second(settings, str(tmp_path / "nowhere"))
