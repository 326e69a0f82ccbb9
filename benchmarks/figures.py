"""What a benchmark says: figures with their aims, as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from memstream.settings.model import usable_cores


@dataclass(frozen=True, slots=True)
class Aim:
    """What a figure should be: at least, or at most, `bound`."""

    bound: float
    most: bool = False

    def __str__(self) -> str:
        return f"{'≤' if self.most else '≥'} {number(self.bound)}"

    def met_by(self, value: float) -> bool:
        """Whether a value is on the right side of the bound."""
        return value <= self.bound if self.most else value >= self.bound


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured. `unit` is empty for a ratio."""

    name: str
    value: float
    unit: str = ""
    aim: Aim | None = None

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None where there is none."""
        return None if self.aim is None else self.aim.met_by(self.value)


@dataclass(frozen=True, slots=True)
class Section:
    """The figures of one benchmark: `how` says in sentences how they came about, `detail` goes into the JSON alone."""

    name: str
    title: str
    figures: Sequence[Figure]
    how: Sequence[str] = ()
    detail: dict[str, Any] = field(default_factory=dict)


def number(value: float) -> str:
    """A number with as many digits as matter."""
    if (value == int(value) and abs(value) >= 10) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def show(section: Section, console: Console) -> None:
    """Print a section as a table."""
    table = Table(title=section.title, title_justify="left", title_style="bold", show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    table.add_column()
    for figure in section.figures:
        verdict = {None: "", True: "[green]reached[/]", False: "[red]missed[/]"}[figure.met]
        aim = f"aim {figure.aim} {verdict}" if figure.aim is not None else ""
        table.add_row(figure.name, number(figure.value), figure.unit, aim)
    console.print(table)
    for sentence in section.how:
        console.print(f"[dim]{sentence}[/]", soft_wrap=True)
    console.print()


def as_json(sections: Sequence[Section], seconds: float) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "machine": machine(),
        "seconds": round(seconds, 1),
        "benchmarks": {section.name: _section_json(section) for section in sections},
    }


def machine() -> dict[str, Any]:
    """What these figures were measured on; `load` above the benchmark's own says that they are rough."""
    return {
        "cores": usable_cores(),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def _section_json(section: Section) -> dict[str, Any]:
    figures = [{**asdict(figure), "met": figure.met} for figure in section.figures]
    return {"title": section.title, "figures": figures, "how": list(section.how), "detail": section.detail}


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
