"""docs/operate.md names the metrics, the reasons and the ports as they are."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client import REGISTRY

from memstream.schemas.errors import Reason
from memstream.settings import Settings
from memstream.streams import metrics

PAGE = (Path(__file__).parents[2] / "docs" / "operate.md").read_text(encoding="utf-8")


def test_every_metric_is_documented_and_none_that_is_not_there() -> None:
    """The table of metrics is what the stages count."""
    assert metrics.EVENTS
    counted = {
        metric.name + ("_total" if metric.type == "counter" else "")
        for metric in REGISTRY.collect()
        if metric.name.startswith("memstream_")
    }
    assert set(re.findall(r"`(memstream_[a-z_]+)`", PAGE)) == counted


def test_every_reason_is_explained() -> None:
    """Who reads a dead letter's reason finds it on the page."""
    table = PAGE.split("\n| reason |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z_]+)`", table)) == {reason.value for reason in Reason}


def test_the_ports_are_those_of_the_settings() -> None:
    """The page's ports are the defaults."""
    for stage in ("extract", "sink"):
        port = Settings.model_fields[f"metrics_port_{stage}"].default
        assert f"`MEMSTREAM_METRICS_PORT_{stage.upper()}`, {port}" in PAGE
