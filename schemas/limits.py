"""Every limit of the contract, in one place. Sizes are bytes of UTF-8, lengths are code points."""

from __future__ import annotations

MAX_EVENT_BYTES = 1_000_000
MAX_PATCH_BYTES = 8_000_000
MAX_DEAD_LETTER_BYTES = 2_000_000
MAX_DEPTH = 32
MAX_ID = 256
MAX_NAME = 512
MAX_SHORT_TEXT = 4_096
MAX_SCOPE = 512
MAX_SCOPE_SEGMENTS = 16
MAX_SEGMENT = 128
MAX_LIST = 1_000
MAX_PATCH_ROWS = 5_000
MAX_FUTURE_SECONDS = 86_400
