#!/usr/bin/env bash
# Makes .venv with Python 3.11 or newer and installs the project into it, once for each version of pyproject.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

usable() { # a Python that is new enough and can make an environment
  "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  local name
  for name in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    if [ -n "$name" ] && usable "$name"; then echo "$name"; return; fi
  done
}

if [ ! -x .venv/bin/python ] || ! usable .venv/bin/python; then
  python=$(find_python)
  if [ -z "$python" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing python3 and python3-venv by apt-get (running as root on a Debian-like system)." >&2
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >/dev/null
    python=$(find_python)
  fi
  if [ -z "$python" ]; then
    cat >&2 <<'EOF'
Python 3.11 or newer, with its venv module, is needed. Install it:
  Debian, Ubuntu   sudo apt-get install python3 python3-venv
  Fedora           sudo dnf install python3.12
  macOS            brew install python@3.12
  Windows          winget install Python.Python.3.12
or name one: make install PYTHON=/path/to/python3
EOF
    exit 1
  fi
  "$python" -m venv --clear .venv
fi

stamp=$(cat pyproject.toml <(.venv/bin/python --version) | cksum)
if [ "$(cat .venv/installed 2>/dev/null)" != "$stamp" ]; then
  echo "Installing Memstream and what it needs into .venv (the first time takes minutes)." >&2
  if ! said=$(.venv/bin/python -m pip install --disable-pip-version-check --editable '.[dev]' 2>&1); then
    echo "$said" >&2
    echo "The installation failed; pip's words are above." >&2
    exit 1
  fi
  echo "$stamp" > .venv/installed
fi
