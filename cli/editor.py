"""A person's editor on a text of ours."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from memstream.schemas.errors import InvalidInput


def edited(text: bytes, suffix: str = ".json") -> bytes:
    """The text as the person left it, in $VISUAL or $EDITOR (else vi).

    Raises InvalidInput where there is no such editor, where it fails, and where nothing was changed.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="memstream-") as folder:
        file = Path(folder, f"letter{suffix}")
        file.write_bytes(text)
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)  # noqa: S603 - the person's own editor
        except (OSError, subprocess.CalledProcessError) as error:
            raise InvalidInput(f"The editor {editor!r} failed ({error}): set EDITOR, or use --file") from error
        changed = file.read_bytes()
    if changed == text:
        raise InvalidInput("Nothing was changed, and nothing was sent")
    return changed
