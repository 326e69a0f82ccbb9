"""What the stages count, for Prometheus. No label holds a scope, a session or an id: their number has no bound."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)
_BYTES = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 8_000_000)

EVENTS = Counter("memstream_events", "Events by type and by what became of them.", ["stage", "type", "outcome"])
BATCH = Histogram("memstream_batch_records", "Records in a batch.", ["stage"], buckets=_SIZES)
SECONDS = Histogram(
    "memstream_step_seconds", "Time that a batch spends in a step.", ["stage", "step"], buckets=_SECONDS
)
LAG = Gauge("memstream_lag_records", "Records not worked off yet.", ["stage", "topic", "partition"])
RETRIES = Counter("memstream_retries", "Things tried again, by kind.", ["stage", "kind"])
DEAD_LETTERS = Counter("memstream_dead_letters", "Dead letters by reason.", ["stage", "reason"])
DEAD_LETTERS_WAITING = Gauge("memstream_dead_letters_waiting", "Dead letters neither retried nor dropped.", ["reason"])
MISSING = Counter("memstream_patches_missing", "Patches made without an extractor that did not answer.", ["extractor"])
OUTCOMES = Counter(
    "memstream_extractor_outcomes", "What became of asking an extractor, and of what it said.", ["extractor", "outcome"]
)
PATCH_BYTES = Histogram("memstream_patch_bytes", "Size of patches.", buckets=_BYTES)
ROWS = Counter("memstream_rows_written", "Rows that batches wrote to the graph.", ["kind"])
CHILDREN = Gauge("memstream_pool_children", "Extraction processes that are loaded and alive.")
CHANGES = Counter("memstream_changes_sent", "Changes sent to their topic.")
SESSIONS = Gauge("memstream_sessions_held", "Sessions whose state is in memory.")
SESSION_BYTES = Gauge("memstream_session_state_bytes", "Bytes of session state in memory.")
