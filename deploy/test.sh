#!/usr/bin/env bash
# Runs the tests against a real Kafka and Neo4j, and stops these afterwards unless they ran before.
set -uo pipefail
cd "$(dirname "$0")/.."

if ! .venv/bin/memstream status >/dev/null 2>&1; then
  # In silence, so that pytest has the last word.
  trap '.venv/bin/memstream down >/dev/null 2>&1' EXIT
fi
.venv/bin/memstream up >&2 || exit 1
# Two at once, file by file: much of a test against the real ones is waiting.
.venv/bin/python -m pytest -n 2 --dist loadfile "$@"
