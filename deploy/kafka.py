"""Kafka as a child process: one node, KRaft, loopback only, its data kept between starts."""

from __future__ import annotations

import base64
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from memstream.deploy.processes import HealthCheck, PartSpec
from memstream.schemas.errors import StackError

NAME = "kafka"
_LOGGING = Path(__file__).parent / "kafka-log4j2.properties"

# Patches have at most 8 MB; 9 MB leaves room for headers and the batch around them.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
message.max.bytes=9437184
replica.fetch.max.bytes=9437184
replica.fetch.response.max.bytes=10485760
offsets.topic.replication.factor=1
offsets.topic.num.partitions=10
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=10
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=4
"""


@dataclass(frozen=True, slots=True)
class KafkaPlan:
    """Where this Kafka lives and listens."""

    home: Path
    jars: Path
    java: str
    port: int
    controller: int

    @property
    def address(self) -> str:
        """What clients connect to."""
        return f"127.0.0.1:{self.port}"


def prepare(plan: KafkaPlan) -> None:
    """Write the configuration and, at the first start, format the data folder. Raises StackError with Kafka's words."""
    data = plan.home / "data"
    data.mkdir(parents=True, exist_ok=True)
    config = _PROPERTIES.format(port=plan.port, controller=plan.controller, data=data.as_posix())
    (plan.home / "server.properties").write_text(config, encoding="utf-8")
    if (data / "meta.properties").exists():
        return
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    format_it = ["format", "--cluster-id", cluster, "--config", str(plan.home / "server.properties")]
    command = [*_java(plan, "128m"), "kafka.tools.StorageTool", *format_it]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    if told.returncode != 0:
        tail = "\n".join((told.stdout + told.stderr).strip().splitlines()[-15:])
        raise StackError(f"Kafka's data folder {data} could not be formatted:\n{tail}")


def part(plan: KafkaPlan, health: HealthCheck) -> PartSpec:
    """How to run it and, by `health`, to see that it answers."""
    argv = (*_java(plan, "768m"), "kafka.Kafka", str(plan.home / "server.properties"))
    return PartSpec(NAME, argv, health, ports={"kafka": plan.port, "controller": plan.controller}, start_timeout=120)


def _java(plan: KafkaPlan, heap: str) -> list[str]:
    flags = [f"-Xmx{heap}", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"]
    logs = [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}", "-Dlog4j2.disable.jmx=true"]
    return [plan.java, *flags, *logs, "-cp", str(plan.jars / "*")]
