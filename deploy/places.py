"""Where the parts of the local stack listen: chosen once, then kept in stack.env."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memstream.deploy.ports import choose
from memstream.schemas.errors import StackError

KAFKA, CONTROLLER, BOLT, HTTP = (
    "MEMSTREAM_KAFKA_PORT",
    "MEMSTREAM_CONTROLLER_PORT",
    "MEMSTREAM_BOLT_PORT",
    "MEMSTREAM_HTTP_PORT",
)
_USUAL = {KAFKA: 9092, CONTROLLER: 9093, BOLT: 7687, HTTP: 7474}
_OF_PART = {"kafka": (KAFKA, CONTROLLER), "neo4j": (BOLT, HTTP)}
_NAMES = {KAFKA: "Kafka", CONTROLLER: "Kafka's controller", BOLT: "Neo4j (Bolt)", HTTP: "Neo4j (HTTP)"}


@dataclass(frozen=True, slots=True)
class Places:
    """The ports by the name of their variable."""

    ports: Mapping[str, int]

    def of(self, part: str) -> dict[str, int]:
        """The ports of one part."""
        return {name: self.ports[name] for name in _OF_PART[part] if name in self.ports}

    def variables(self, part: str) -> dict[str, str]:
        """What later commands read of this part: its address, and the ports to come back to."""
        named = {name: str(port) for name, port in self.of(part).items()}
        if part == "kafka":
            return {"MEMSTREAM_KAFKA_BOOTSTRAP": f"127.0.0.1:{self.ports[KAFKA]}", **named}
        return {"MEMSTREAM_NEO4J_URI": f"bolt://127.0.0.1:{self.ports[BOLT]}", "MEMSTREAM_NEO4J_USER": "neo4j", **named}


def place(parts: list[str], runs: Callable[[str], bool], known: Mapping[str, str], wanted: Mapping[str, int]) -> Places:
    """The ports of `parts`: those of a running part as they are, else wanted, as before, usual, or free.

    Raises StackError if a wanted port is taken, or its part runs already on another one.
    """
    chosen: dict[str, int] = {}
    for part in parts:
        for name in _OF_PART[part]:
            before = int(known[name]) if known.get(name, "").isdigit() else None
            if runs(part) and before is not None:
                if wanted.get(name, before) != before:
                    raise StackError(f"{part} runs already on port {before}. Run `memstream down` first to move it.")
                chosen[name] = before
                continue
            taken = frozenset(chosen.values())
            chosen[name] = choose(_NAMES[name], wanted.get(name), _USUAL[name], before, taken)
    return Places(chosen)
