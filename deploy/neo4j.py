"""Neo4j Community as a child process: loopback only, a password of its own, its data kept between starts."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from memstream.deploy.processes import HealthCheck, PartSpec
from memstream.schemas.errors import StackError

NAME = "neo4j"

# The lock timeout is for ever by default: a sink would hang instead of trying again.
_CONF = """\
server.default_listen_address=127.0.0.1
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{bolt}
server.bolt.advertised_address=127.0.0.1:{bolt}
server.http.enabled=true
server.http.listen_address=127.0.0.1:{http}
server.http.advertised_address=127.0.0.1:{http}
server.https.enabled=false
server.memory.pagecache.size=512m
db.lock.acquisition.timeout=60s
db.tx_log.rotation.retention_policy=1 days 512M
dbms.usage_report.enabled=false
dbms.security.auth_enabled=true
"""

_JVM = (
    "-Xms1g",
    "-Xmx1536m",
    "-XX:+UseG1GC",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+DisableExplicitGC",
    "-Djava.awt.headless=true",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
)


@dataclass(frozen=True, slots=True)
class Neo4jPlan:
    """Where this Neo4j lives and listens."""

    home: Path
    jars: Path
    java: str
    bolt: int
    http: int

    @property
    def address(self) -> str:
        """What drivers connect to."""
        return f"bolt://127.0.0.1:{self.bolt}"


def has_store(home: Path) -> bool:
    """Whether this Neo4j was started before, so that its password can't be set from outside any more."""
    return (home / "data" / "databases").exists()


def prepare(plan: Neo4jPlan, password: str) -> None:
    """Write the configuration and, before the first start, set the password. Raises StackError with Neo4j's words."""
    conf = plan.home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "neo4j.conf").write_text(_CONF.format(bolt=plan.bolt, http=plan.http), encoding="utf-8")
    if not has_store(plan.home):
        _set_password(plan, password)


def part(plan: Neo4jPlan, health: HealthCheck) -> PartSpec:
    """How to run it and, by `health`, to see that it answers."""
    homes = (f"--home-dir={plan.home}", f"--config-dir={plan.home / 'conf'}")
    argv = (plan.java, *_JVM, "-cp", str(plan.jars / "*"), "org.neo4j.server.CommunityEntryPoint", *homes)
    env = {"NEO4J_HOME": str(plan.home), "NEO4J_CONF": str(plan.home / "conf")}
    ports = {"bolt": plan.bolt, "http": plan.http}
    return PartSpec(NAME, argv, health, env=env, ports=ports, start_timeout=300, stop_timeout=60)


def _set_password(plan: Neo4jPlan, password: str) -> None:
    env = {**os.environ, "NEO4J_HOME": str(plan.home), "NEO4J_CONF": str(plan.home / "conf")}
    # By a file that only we can read: the arguments of a process are seen by everyone on the machine.
    with tempfile.TemporaryDirectory(prefix="memstream-") as folder:
        arguments = Path(folder) / "arguments"
        arguments.touch(mode=0o600)
        arguments.write_text(f"dbms\nset-initial-password\n{password}\n", encoding="utf-8")
        command = [plan.java, "-Xmx256m", "-cp", str(plan.jars / "*"), "org.neo4j.cli.AdminTool", f"@{arguments}"]
        told = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    if told.returncode != 0:
        tail = "\n".join((told.stdout + told.stderr).strip().splitlines()[-15:])
        raise StackError(f"The password of Neo4j in {plan.home} could not be set:\n{tail}")
