"""stack.env: where the running stack is, for every later command. Only its owner may read it: it has a password."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memstream.schemas.errors import StackError

_HEADER = "# Written by `memstream up`. Variables of the environment win over it.\n"


def read(path: Path) -> dict[str, str]:
    """The variables in the file; none if it isn't there. Raises StackError if it can't be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise StackError(f"{path} can't be read: {error}. Mend or delete it, then run `memstream up` again.") from error
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def write(path: Path, variables: Mapping[str, str]) -> None:
    """Replace the file in one step, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(_HEADER + "".join(f"{name}={value}\n" for name, value in variables.items()), encoding="utf-8")
    draft.replace(path)
