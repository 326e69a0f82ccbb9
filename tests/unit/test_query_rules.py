"""Every way into the graph goes through one place: routes through a Reader, Cypher through the registry."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

import memstream.query
from memstream.extractors.vectors.embedders import NoEmbedder
from memstream.query.app import create_app
from memstream.query.graph import Graph, Reader
from memstream.query.params import one_reader, several_readers
from memstream.query.statements import REGISTRY, scoped, service
from memstream.settings import Settings

SERVICE_ROUTES = {"/live", "/ready", "/metrics", "/v1/status"}
SERVICE_STATEMENTS = {"events of erased entities", "position", "ping", "offsets", "schema"}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    """The service, not started."""
    return create_app(Settings(), NoEmbedder())


def _routes(app: FastAPI) -> list[APIRoute]:
    return [route for route in _flat(app.routes) if isinstance(route, APIRoute)]


def _flat(routes: Any) -> Iterator[Any]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _flat(inner.routes)
        else:
            yield route


def _calls(dependant: Dependant) -> Iterator[Any]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls(each)


def _sources() -> list[tuple[Path, ast.Module]]:
    files = [file for folder in memstream.query.__path__ for file in sorted(Path(folder).glob("*.py"))]
    return [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in files]


def test_every_data_route_reads_through_a_reader(app: FastAPI) -> None:
    """A route that is not of the service itself depends on the one place that takes the scope."""
    routes = _routes(app)
    assert len(routes) > 15
    for route in routes:
        takes_scope = bool({one_reader, several_readers} & set(_calls(route.dependant)))
        assert takes_scope == (route.path not in SERVICE_ROUTES), route.path


def test_scope_is_required_in_the_document(app: FastAPI) -> None:
    """The OpenAPI document says so for every data route, and gives an example."""
    for path, methods in app.openapi()["paths"].items():
        assert set(methods) == {"get"}, path
        scopes = [each for each in methods["get"].get("parameters", []) if each["name"] == "scope"]
        assert [each["required"] for each in scopes] == ([] if path in SERVICE_ROUTES else [True]), path
        assert methods["get"]["summary"]


def test_only_one_module_holds_the_driver() -> None:
    """No other module of the package imports the driver or runs a text."""
    for file, tree in _sources():
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        drivers = {name for name in names if name.split(".")[0] == "neo4j"}
        assert not drivers or file.name == "graph.py", file
        runs = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in {"_run", "_driver", "session"}]
        assert not runs or file.name == "graph.py", file


def test_no_cypher_outside_the_registry() -> None:
    """A text with MATCH or CALL in it is part of a registered statement, and no f-string makes one."""
    known = "\n".join(" ".join(statement.text.split()) for statement in REGISTRY.values())
    # texts for several labels or statements, filled in when a module is imported; the plans are tested
    template = {"shared.py", "vectors.py", "hiding.py"}
    for file, tree in _sources():
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
                assert "RETURN" not in text, file
                assert "WHERE" not in text, file
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docs:
                continue
            if "MATCH (" in node.value and file.name not in template | {"statements.py"}:
                assert " ".join(node.value.split()) in known, (file, node.value[:80])


def test_only_service_statements_are_not_scoped() -> None:
    """And there are few of them, none of which returns content."""
    assert {name for name, statement in REGISTRY.items() if not statement.scoped} == SERVICE_STATEMENTS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("MATCH (m:Message {id: $id}) WHERE m.at <= $position RETURN m", "without a scope"),
        ("MATCH (m:Message {scope: $scope}) RETURN m", "position"),
        ("MATCH (m:Message {scope: $scope}) WHERE m.at <= $position MATCH (n:Fact) RETURN n", "without a scope"),
        ("CALL db.index.fulltext.queryNodes('x', $q) YIELD node WHERE node.at <= $position RETURN node", "filter by"),
        ("MATCH (m:Message {scope: $scope}) WHERE m.at <= $position SET m.x = 1", "writes"),
    ],
)
def test_a_statement_that_could_leave_its_scope_is_refused(text: str, why: str) -> None:
    """When the module is imported, not when it is too late."""
    with pytest.raises(ValueError, match=why):
        scoped("refused", text)
    assert "refused" not in REGISTRY


def test_a_name_is_taken_once() -> None:
    """Two statements of one name would hide each other from the tests of plans."""
    with pytest.raises(ValueError, match="two statements"):
        service("ping", "RETURN 2")


async def test_a_reader_gives_scope_and_position_itself() -> None:
    """Nobody else may, and it runs no unscoped statement."""
    graph = Graph.connect(Settings(neo4j_uri="bolt://127.0.0.1:1"))
    reader = Reader(graph, "acme")
    with pytest.raises(ValueError, match="scope"):
        await reader.rows(REGISTRY["message"], id="x", scope="other")
    with pytest.raises(ValueError, match="position"):
        await reader.rows(REGISTRY["message"], id="x", position=10**9)
    with pytest.raises(ValueError, match="not scoped"):
        await reader.rows(REGISTRY["offsets"])
    await graph.close()
