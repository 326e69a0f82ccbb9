"""The settings of every process: one frozen model, read from MEMSTREAM_* variables and from the local stack's file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from memstream.schemas.topics import EVENT_TOPICS, Topic
from memstream.settings.checks import (
    check_bootstrap,
    check_embedder,
    check_http_url,
    check_json_object,
    check_keys,
    check_language_models,
    check_model_url,
    check_neo4j_uri,
    check_predicates,
    check_prefix,
)

ENV_PREFIX = "MEMSTREAM_"
DEFAULT_DATA_DIR = ".memstream"
STACK_FILE = "stack.env"

Port = Annotated[int, Field(ge=1, le=65535)]


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _offload_folder(data: dict[str, Any]) -> str:
    return (Path(data["data_dir"]) / "offload").as_uri()


def _jars_folder(data: dict[str, Any]) -> Path:
    return Path(data["data_dir"]) / "jars"


def _query_address(data: dict[str, Any]) -> str:
    host = data["query_host"]
    # A service that listens everywhere is reached from here by loopback.
    return f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{data['query_port']}"  # noqa: S104


class Settings(BaseSettings):
    """Everything a process of Memstream can be told. Sources, strongest first: arguments, environment, stack.env.

    `<data_dir>/stack.env` is written by `memstream up`: so every later command finds the local stack with no flags.
    """

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Annotated[Path, AfterValidator(_absolute)] = Field(
        Path(DEFAULT_DATA_DIR),
        validate_default=True,
        description="Folder of the local stack: data, jars, logs, offload.",
    )
    jars_dir: Annotated[Path, AfterValidator(_absolute)] = Field(
        default_factory=_jars_folder, description="Folder of Kafka's and Neo4j's jars; else under data_dir."
    )

    kafka_bootstrap: Annotated[str, AfterValidator(check_bootstrap)] = Field(
        "127.0.0.1:9092", description="Kafka brokers, host:port with commas between."
    )
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="How to speak to the brokers."
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "PLAIN", description="How to log in, with a SASL_ protocol."
    )
    kafka_sasl_username: str | None = Field(None, description="User name for SASL.")
    kafka_sasl_password: SecretStr | None = Field(None, description="Password for SASL.")
    kafka_ssl_cafile: Path | None = Field(None, description="Certificates to trust (PEM); else the system's.")
    kafka_ssl_certfile: Path | None = Field(None, description="Client certificate (PEM), where brokers ask for one.")
    kafka_ssl_keyfile: Path | None = Field(None, description="Key of the client certificate (PEM).")
    topic_prefix: Annotated[str, AfterValidator(check_prefix)] = Field(
        "memory", description="First part of every topic's name."
    )
    events_prefix: Annotated[str, AfterValidator(check_prefix)] | None = Field(
        None, description="Prefix of the event topics, where a rebuilt lineage reads those of another one."
    )
    patches_prefix: Annotated[str, AfterValidator(check_prefix)] | None = Field(
        None, description="Prefix of the patches topic, where a replay runs into another lineage's graph."
    )
    partitions: int = Field(12, ge=1, le=1024, description="Partitions of each topic. It never changes afterwards.")
    replication_factor: int = Field(1, ge=1, le=32, description="Copies of each topic: 3 in production.")
    group_prefix: Annotated[str, AfterValidator(check_prefix)] = Field(
        "memstream", description="First part of every consumer group's name."
    )

    session_timeout: float = Field(
        30.0, ge=6, le=80, description="Seconds without a heartbeat after which a worker's partitions go to others."
    )

    publish_timeout: float = Field(
        30.0, gt=0, le=3_600, description="Seconds in which the broker must ack an event; else publishing it fails."
    )

    neo4j_uri: Annotated[str, AfterValidator(check_neo4j_uri)] = Field(
        "bolt://127.0.0.1:7687", description="Neo4j's address: bolt:// or neo4j://, +s with TLS."
    )
    neo4j_user: str = Field("neo4j", description="Neo4j's user.")
    neo4j_password: SecretStr | None = Field(None, description="Neo4j's password; none: without authentication.")
    neo4j_database: str = Field("neo4j", min_length=1, description="Neo4j's database. Community has only this one.")

    target_user: str | None = Field(None, description="User of a second Neo4j (replay, switch); else neo4j_user.")
    target_password: SecretStr | None = Field(
        None, description="Password of a second Neo4j (replay, switch); else neo4j_password."
    )

    extractor: str = Field(
        "spacy", min_length=1, description="Names of entry points in memstream.extractors, with + between."
    )
    predicates: Annotated[Path, AfterValidator(check_predicates)] | None = Field(
        None, description="A file of your own predicates and patterns; the same for all processes (docs/predicates.md)."
    )
    language: str = Field(
        "en", pattern="^[a-z]{2,3}$", description="The language of messages that are too short to tell: en, de …"
    )
    language_models: Annotated[str, AfterValidator(check_language_models)] = Field(
        "", description="spaCy models of other languages: de=de_core_news_sm,cs=/models/cs (docs/extraction.md)."
    )
    extract_processes: int = Field(0, ge=0, le=256, description="Extraction processes of a worker; 0: one a core.")
    extract_batch: int = Field(500, ge=1, le=10_000, description="Most events in a batch of the extraction stage.")
    embedder: Annotated[str, AfterValidator(check_embedder)] = Field(
        "minilm", description="minilm (offline), none, sentence-transformers:NAME or openai:URL#MODEL#DIMS."
    )
    embedder_api_key: SecretStr | None = Field(None, description="Key for an openai: embedder.")

    openai_url: Annotated[str, AfterValidator(check_model_url)] | None = Field(
        None, description="Endpoint of the extractor openai, without /chat/completions: http://127.0.0.1:11434/v1."
    )
    openai_model: str | None = Field(None, min_length=1, description="Model that the extractor openai asks for.")
    openai_api_key: SecretStr | None = Field(None, description="Key for that endpoint.")
    openai_generation: int = Field(
        1, ge=1, le=1_000, description="Raise it with another model: what that says replaces what the one before said."
    )
    openai_context: int = Field(6, ge=0, le=20, description="Earlier messages of the session that go with each one.")
    openai_seconds: float = Field(
        30.0, gt=0, le=300, description="Longest time for one message, tries and waiting included; then without."
    )
    openai_parallel: int = Field(8, ge=1, le=256, description="Messages that a process asks for at once.")
    openai_requests_a_minute: int = Field(0, ge=0, description="Most requests in a minute, of this machine; 0: any.")
    openai_tokens_a_minute: int = Field(0, ge=0, description="Most tokens in a minute, of this machine; 0: any.")
    openai_cost_in: float = Field(0.0, ge=0, description="Price of a million tokens that go in.")
    openai_cost_out: float = Field(0.0, ge=0, description="Price of a million tokens that come out.")
    openai_spend_a_day: float = Field(
        0.0, ge=0, description="Most to spend in a day (UTC), of this machine, by these prices; 0: any. Then without."
    )
    openai_answer_tokens: int = Field(2_000, ge=64, description="Most tokens of an answer.")
    openai_body: Annotated[dict[str, Any], NoDecode, BeforeValidator(check_json_object)] = Field(
        {}, description='More for the body of each request, as JSON; null takes out: {"temperature": null}.'
    )

    gliner_dir: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        None, description="Folder of a GLiNER model, for the extractor gliner. Nothing is ever downloaded."
    )
    gliner_generation: int = Field(
        1, ge=1, le=900, description="Raise it with another model: what that says replaces what the one before said."
    )
    gliner_threshold: float = Field(0.5, ge=0.0, le=1.0, description="Least score of a name that GLiNER finds.")

    sink_batch: int = Field(1000, ge=1, le=10_000, description="Most patches in a transaction of the sink.")
    offload_url: str = Field(
        default_factory=_offload_folder, description="Where whole large results go (fsspec URL); else under data_dir."
    )
    offload_threshold: int = Field(16_384, ge=1_024, description="Bytes above which a tool result is cut down.")

    keys: Annotated[str, AfterValidator(check_keys)] = Field(
        "",
        description="Store of the keys that seal the log: file:///…, or env: (keys_json). Empty: nothing is sealed.",
    )
    keys_master: SecretStr | None = Field(None, description="Seals the keys in their file; else they lie there as is.")
    keys_json: SecretStr | None = Field(None, description="The keys themselves, for keys=env: (docs/erasure.md).")

    query_host: str = Field("127.0.0.1", min_length=1, description="Address that the query service listens on.")
    query_port: Port = Field(8700, description="Port that the query service listens on.")
    query_url: Annotated[str, AfterValidator(check_http_url)] = Field(
        default_factory=_query_address, description="Where readers find the query service; else its host and port."
    )
    metrics_host: str = Field("127.0.0.1", min_length=1, description="Address that the workers' metrics listen on.")
    metrics_port_extract: Port = Field(8701, description="Prometheus metrics of the extraction worker.")
    metrics_port_sink: Port = Field(8702, description="Prometheus metrics of the sink worker.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    log_json: bool = Field(False, description="Logs as JSON, one object a line.")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.kafka_security_protocol.startswith("SASL_") and not (
            self.kafka_sasl_username and self.kafka_sasl_password
        ):
            raise ValueError(
                f"{ENV_PREFIX}KAFKA_SECURITY_PROTOCOL={self.kafka_security_protocol} needs "
                f"{ENV_PREFIX}KAFKA_SASL_USERNAME and {ENV_PREFIX}KAFKA_SASL_PASSWORD"
            )
        if self.openai_spend_a_day and not (self.openai_cost_in or self.openai_cost_out):
            raise ValueError(f"{ENV_PREFIX}OPENAI_SPEND_A_DAY needs prices: {ENV_PREFIX}OPENAI_COST_IN and _OUT")
        if (self.kafka_ssl_certfile is None) != (self.kafka_ssl_keyfile is None):
            raise ValueError(f"set {ENV_PREFIX}KAFKA_SSL_CERTFILE and {ENV_PREFIX}KAFKA_SSL_KEYFILE together")
        return self

    @property
    def extract_process_count(self) -> int:
        """How many extraction processes a worker starts: the setting, or the cores this process may use."""
        return self.extract_processes or usable_cores()

    @property
    def models_by_language(self) -> dict[str, str]:
        """The spaCy model of each language that has one beside English."""
        parts = (part.partition("=") for part in filter(None, self.language_models.split(",")))
        return {language: model.strip() for language, _, model in parts}

    @property
    def neo4j_auth(self) -> tuple[str, str] | None:
        """User and password as the Neo4j driver takes them; None where there is no password."""
        return (self.neo4j_user, self.neo4j_password.get_secret_value()) if self.neo4j_password else None

    def at(self, neo4j_uri: str) -> Self:
        """The same with another Neo4j, under the user and password of the second one where they are given.

        Raises ValueError for what is no address of a Neo4j.
        """
        told: dict[str, Any] = {"neo4j_uri": check_neo4j_uri(neo4j_uri)}
        if self.target_user is not None:
            told["neo4j_user"] = self.target_user
        if self.target_password is not None:
            told["neo4j_password"] = self.target_password
        return self.model_copy(update=told)

    def topic(self, topic: Topic) -> str:
        """The full name of a topic as the processes of this lineage read or write it."""
        if topic in EVENT_TOPICS:
            return topic.named(self.events_prefix or self.topic_prefix)
        if topic is Topic.PATCHES:
            return topic.named(self.patches_prefix or self.topic_prefix)
        return topic.named(self.topic_prefix)

    @property
    def stack_file(self) -> Path:
        """The file in which `memstream up` leaves the addresses of what it started."""
        return self.data_dir / STACK_FILE

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - its file is not known when it is made
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not used
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, environment, then the stack.env of the data directory that these two name."""
        folder = init_settings().get("data_dir") or env_settings().get("data_dir") or DEFAULT_DATA_DIR
        stack = DotEnvSettingsSource(settings_cls, env_file=_absolute(Path(str(folder))) / STACK_FILE)
        return init_settings, env_settings, stack


def usable_cores() -> int:
    """The cores this process may run on (a container's limit included, where the system tells it)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
