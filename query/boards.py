"""What is on a board: questions, tasks, findings and notes with who has them."""

from __future__ import annotations

from fastapi import APIRouter

from memstream.query.models import Out, Page, PositionOut
from memstream.query.params import OneListing
from memstream.query.problems import RESPONSES
from memstream.query.sessions import AFTER_ALL_TIMES
from memstream.query.shared import as_of
from memstream.query.statements import scoped
from memstream.schemas.patch import Label

router = APIRouter(prefix="/v1", tags=["boards"], responses=RESPONSES)


class BoardItem(Out):
    """Something on a board."""

    id: str
    item_id: str
    kind: str | None = None
    text: str | None = None
    agent_id: str | None = None
    time: str | None = None
    claim: str | None = None
    holder: str | None = None
    lease_until: str | None = None
    answer: str | None = None
    answered_by: str | None = None
    resolution: str | None = None
    closed_by: str | None = None


class BoardPage(Page):
    """What is on a board, the newest first."""

    items: list[BoardItem]


# BoardItem by the index (scope, time), backwards.
BOARD_ITEMS = scoped(
    "board items",
    """
    MATCH (b:BoardItem {scope: $scope})
    WHERE b.time <= $time AND b.at <= $position AND (b.time < $time OR b.id > $id)
    RETURN b.id AS id, b.changed AS changed, b.item_id AS item_id, b.kind AS kind, b.text AS text,
      b.agent_id AS agent_id, b.time AS time, b.claim AS claim, b.holder AS holder, b.lease_until AS lease_until,
      b.answer AS answer, b.answered_by AS answered_by, b.resolution AS resolution, b.closed_by AS closed_by
    ORDER BY b.time DESC, b.id LIMIT $limit
    """,
)


@router.get("/board-items", summary="What is on a board")
async def board_items(page: OneListing) -> BoardPage:
    """A page of what was posted, the newest first, with claim, answer and resolution as of the position."""
    time, last = page.start(AFTER_ALL_TIMES, "")
    rows = await page.reader.rows(BOARD_ITEMS, time=time, id=last, limit=page.limit + 1)
    shown, more = rows[: page.limit], len(rows) > page.limit
    items = await as_of(page.reader, Label.BOARD_ITEM, shown)
    return BoardPage(
        position=PositionOut.of(page.reader.position),
        items=[BoardItem(**{name: value for name, value in row.items() if name != "changed"}) for row in items],
        next_cursor=page.next_cursor((shown[-1]["time"], shown[-1]["id"])) if more else None,
    )
