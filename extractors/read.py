"""Reading one message with its session: names first, then what is said of them, then what the session remembers."""

from __future__ import annotations

from memstream.extractors.context.reading import Reading
from memstream.extractors.context.references import Named
from memstream.extractors.context.session import Known, Session, calls
from memstream.extractors.context.trace import Trace
from memstream.extractors.context.traced import TracedReading
from memstream.extractors.models.judge import Judge, judge
from memstream.extractors.parse.forms import expansions
from memstream.extractors.parse.frames import frames
from memstream.extractors.parse.reader_input import Parsed, Piece
from memstream.extractors.rules.answers import answer, ask, confirm, remember_guesses, takes_turn
from memstream.extractors.rules.changes import continue_facts
from memstream.extractors.rules.contacts import match_contacts, match_fragments
from memstream.extractors.rules.copulas import match_copulas
from memstream.extractors.rules.corrections import correct
from memstream.extractors.rules.incidents import match_incidents
from memstream.extractors.rules.introductions import match_introductions
from memstream.extractors.rules.nominals import match_nominals
from memstream.extractors.rules.patterns import match_frames
from memstream.extractors.rules.preferences import match_preferences
from memstream.extractors.rules.structured import match_headed_lists, read_structure
from memstream.extractors.rules.surface import match_surfaces
from memstream.extractors.text.code import code_names
from memstream.extractors.text.identifiers import identify
from memstream.extractors.text.lexicon import lexicon
from memstream.extractors.text.textprep import HEAD_CHARS, UNKNOWN
from memstream.extractors.text.times import find_times
from memstream.schemas.extraction import EntityName, EntityType, Extraction, Mention, SameAs, Turn

FICTION_TURNS = 6


def read_message(
    turn: Turn, parsed: Parsed | None, session: Session, trace: Trace | None = None, judged: Judge = judge
) -> Extraction:
    """What the message says. Changes `session` to what it is after it; tells `trace` what was tried.

    `judged` has the last word on each reading; the fit of its model puts a collector in its place.
    """
    speaker = speaker_of(turn, session)
    structure = read_structure(turn, session)
    if structure is not None:
        session.last_speaker = speaker.name
        return structure
    if parsed is None:
        return Extraction()
    fiction = _fiction(turn, session)
    readings = [
        _read(turn, piece, session, speaker, trace=trace, judged=judged, fiction=fiction, first=number == 0)
        for number, piece in enumerate(parsed.pieces)
    ]
    _remember(readings, session)
    if takes_turn(turn) and readings:
        questions = [q for r in readings if (q := ask(r)) is not None]
        session.question = questions[-1] if questions else None
        remember_guesses(readings[0], session)
    session.last_speaker = speaker.name
    mentions = [m for r in readings for m in sorted(r.mentions.values(), key=lambda m: (m.start, m.end))]
    return Extraction(
        mentions=(*mentions, *_in_code(turn, session, mentions)),
        assertions=tuple(a for r in readings for a in r.assertions),
        retractions=tuple(x for r in readings for x in r.retractions),
        preferences=tuple(p for r in readings for p in r.preferences),
        same_as=tuple(s for r in readings for s in r.same_as),
        cut=parsed.cut,
    )


def _in_code(turn: Turn, session: Session, mentions: list[Mention]) -> list[Mention]:
    """What the code of a message names beyond doubt: nothing is said of it, and no pronoun means it."""
    out = []
    for found in code_names(turn.text[:HEAD_CHARS]):
        if any(m.start < found.end and found.start < m.end for m in mentions):
            continue
        known = session.find(found.name, EntityType.OBJECT)
        if known is not None and known.name.lower() == found.name.lower():
            entity, used = known.entity, known.basis(turn.event_id)
        else:
            entity, used = EntityName(EntityType.OBJECT, found.name, found.subtype), ()
        out.append(Mention(entity, turn.text[found.start : found.end], found.start, found.end, used))
    return out


def _remember(readings: list[Reading], session: Session) -> None:
    """What the next messages may refer to: the facts, and their subjects as the likeliest antecedents."""
    for reading in readings:
        for _, people in reading.groups()[-1:]:
            session.group = [str(session.turn), *(k.name for k in people)]
        for a in reading.assertions:
            if not a.negated and not a.valid_to:
                session.remember(a, reading.turn.event_id, reading.speaker.name)
            for known in [k for k in session.known if k.name == a.subject.name]:
                if known is not reading.speaker:
                    session.known.remove(known)
                    session.known.append(known)


def speaker_of(turn: Turn, session: Session) -> Known:
    """The entity that the first person stands for: a Person, or the Object that an agent is."""
    agent = turn.named and (turn.role == "assistant" or identify(turn.speaker) is not None)
    kind = "Object" if agent else "Person"
    for k in session.known:
        if k.name == turn.speaker and k.type == kind:
            return k
    if turn.named and turn.role in ("user", "assistant"):
        known = Known(turn.speaker, kind, "", session.turn, turn.event_id)
        session.known.append(known)
        return known
    return Known(turn.speaker, kind)


def _fiction(turn: Turn, session: Session) -> bool:
    """Whether the session is making things up: from a message that says so, for some turns."""
    if turn.role in ("user", "system") and lexicon().fiction.search(turn.text, 0, HEAD_CHARS):
        session.fiction = FICTION_TURNS
    elif session.fiction:
        session.fiction -= 1
    return session.fiction > 0


def may_assert(turn: Turn) -> bool:
    """User, system and tool messages assert; an assistant only as a named participant."""
    return turn.role != "assistant" or turn.named


def _read(
    turn: Turn, piece: Piece, session: Session, speaker: Known, *, trace: Trace | None, judged: Judge, fiction: bool,
    first: bool,
) -> Reading:  # fmt: skip
    tree = piece.tree
    earlier = list(session.known)
    named, same = _names(turn, piece, session)
    reading = (TracedReading if trace is not None else Reading)(
        turn=turn, tree=tree, session=session, frames=frames(tree, piece.quoted), named=named,
        times=find_times(tree.text, turn.time), quoted=piece.quoted, asserting=may_assert(turn), earlier=earlier,
        speaker=speaker, trace=trace,
    )  # fmt: skip
    reading.same_as.extend(same)
    reading.prepare()
    if not fiction:
        for rule in (
            match_introductions,
            match_nominals,
            match_copulas,
            match_frames,
            match_contacts,
            match_fragments,
            match_surfaces,
            match_headed_lists,
            match_preferences,
        ):
            rule(reading)
        judged(reading)
        match_incidents(reading)
        if takes_turn(turn) and first:
            answer(reading, session.question)
            confirm(reading, session)
            continue_facts(reading, session)
            correct(reading, session)
    for n in named:
        if n.known is not speaker:
            reading.mention(n.known, n.span.start, n.span.end)
    return reading


def _names(turn: Turn, piece: Piece, session: Session) -> tuple[list[Named], list[SameAs]]:
    """The candidates that the model takes for entities, as entities of the session."""
    named: list[Named] = []
    same: list[SameAs] = []
    longs = expansions(piece.tree.text)
    shorts = {long: short for short, long in longs.items()}
    for span, (best, sure) in zip(piece.candidates, piece.types, strict=True):
        text = piece.tree.span_text(span.start, span.end)
        if UNKNOWN in text or (piece.quoted[span.start] and sure < 0.9):
            continue
        before = session.find(text)
        kind = best
        if not best:
            if before is None or not calls(before, text):
                continue
            kind = before.type
        elif before is not None and before.type != kind and (sure < 0.8 or before.name.lower() == text.lower()):
            kind = before.type
        old = before.entity if before is not None and before.type == kind else None
        basis = before.basis(turn.event_id) if before is not None else ()
        short = shorts.get(text, text)
        if short in longs:
            known = session.introduce(short, longs[short], kind, turn.event_id)
        else:
            known = session.add(text, kind, turn.event_id)
        if old is not None and old.name != known.name:
            same.append(SameAs(old, known.entity, basis))
        named.append(Named(span, known, sure))
    return named, same
