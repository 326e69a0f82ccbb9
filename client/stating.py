"""Methods for what is stated outright: entities, facts, preferences, cards, links, and what takes them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from memstream.client.minting import EntityLike, Envelope, EventLike, Handed, Methods, choice, entity, event_ref
from memstream.schemas import statement
from memstream.schemas.extraction import EntityType, Polarity
from memstream.schemas.statement import AssertionTarget, CardForm, CardKind, CardPolarity, ErasureKind, FactStated
from memstream.schemas.tools import Environment


class StatementMethods(Methods[Handed]):
    """Events of the statement topic."""

    def entity(
        self,
        name: str,
        type: str | EntityType,  # noqa: A002 - the contract's own word
        *,
        subtype: str | None = None,
        description: str | None = None,
        aliases: Sequence[str] = (),
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """An entity: `type` is Person, Organization, Location, Event or Object."""
        return self._emit(
            statement.EntityStated,
            envelope,
            name=name,
            type=choice(EntityType, type, "type"),
            subtype=subtype,
            description=description,
            aliases=tuple(aliases),
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )

    def fact(
        self,
        subject: EntityLike,
        predicate: str,
        object: EntityLike | str,  # noqa: A002 - the contract's own word
        *,
        negated: bool = False,
        valid_from: str | None = None,
        valid_to: str | None = None,
        confidence: float = 1.0,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A triple: entities as (type, name), and a plain string where the object is a literal value."""
        return self._emit(
            statement.FactStated,
            envelope,
            subject=entity(subject),
            predicate=predicate,
            **_object(object),
            negated=negated,
            valid_from=valid_from,
            valid_to=valid_to,
            confidence=confidence,
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )

    def relationship(
        self,
        subject: EntityLike,
        predicate: str,
        object: EntityLike,  # noqa: A002 - the contract's own word
        *,
        negated: bool = False,
        valid_from: str | None = None,
        valid_to: str | None = None,
        confidence: float = 1.0,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A triple between two entities, each as (type, name)."""
        return self._emit(
            statement.RelationshipStated,
            envelope,
            subject=entity(subject),
            predicate=predicate,
            object=entity(object),
            negated=negated,
            valid_from=valid_from,
            valid_to=valid_to,
            confidence=confidence,
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )

    def preference(
        self,
        holder: EntityLike,
        polarity: str | Polarity,
        object: str,  # noqa: A002 - the contract's own word
        *,
        over: str | None = None,
        context: str | None = None,
        category: str | None = None,
        confidence: float = 1.0,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A taste or a standing instruction: `polarity` is like, dislike, prefer, always or never."""
        return self._emit(
            statement.PreferenceStated,
            envelope,
            holder=entity(holder),
            polarity=choice(Polarity, polarity, "polarity"),
            object=object,
            over=over,
            context=context,
            category=category,
            confidence=confidence,
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )

    def card(
        self,
        kind: str | CardKind,
        title: str,
        content: str,
        *,
        card_id: str | None = None,
        form: str | CardForm | None = None,
        polarity: str | CardPolarity = CardPolarity.POSITIVE,
        summary: str | None = None,
        tags: Sequence[str] = (),
        symptoms: Sequence[str] = (),
        when_to_use: str | None = None,
        how_to_apply: str | None = None,
        gotchas: Sequence[str] = (),
        evidence: Sequence[str] = (),
        applies_to: Environment | None = None,
        outcome: str | None = None,
        confidence: float = 1.0,
        utility: float | None = None,
        agent_id: str | None = None,
        task_id: str | None = None,
        error_signatures: Sequence[str] = (),
        resolved_by: Sequence[str] = (),
        negative_memories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """What was learned: `kind` is semantic, procedural or episodic."""
        return self._emit(
            statement.Card,
            envelope,
            kind=choice(CardKind, kind, "kind"),
            title=title,
            content=content,
            card_id=card_id,
            form=choice(CardForm, form, "form"),
            polarity=choice(CardPolarity, polarity, "polarity"),
            summary=summary,
            tags=tuple(tags),
            symptoms=tuple(symptoms),
            when_to_use=when_to_use,
            how_to_apply=how_to_apply,
            gotchas=tuple(gotchas),
            evidence=tuple(evidence),
            applies_to=applies_to,
            outcome=outcome,
            confidence=confidence,
            utility=utility,
            agent_id=self._agent(agent_id),
            task_id=task_id,
            error_signatures=tuple(error_signatures),
            resolved_by=tuple(resolved_by),
            negative_memories=tuple(negative_memories),
            metadata=dict(metadata or {}),
        )

    def link(
        self,
        from_id: str,
        to_id: str,
        relation: str,
        *,
        properties: Mapping[str, Any] | None = None,
        agent_id: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """An edge between two ids, of a relation such as RELATED_TO."""
        return self._emit(
            statement.Link,
            envelope,
            from_id=from_id,
            to_id=to_id,
            relation=relation,
            properties=dict(properties or {}),
            agent_id=self._agent(agent_id),
        )

    def corrected(
        self,
        target: AssertionTarget,
        replacement: FactStated,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """The target (see `assertion`) was wrong, and the replacement is right."""
        return self._emit(
            statement.Corrected,
            envelope,
            target=target,
            replacement=replacement,
            reason=reason,
            agent_id=self._agent(agent_id),
        )

    def retracted(
        self,
        target: AssertionTarget,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """The target (see `assertion`) was wrong."""
        return self._emit(statement.Retracted, envelope, target=target, reason=reason, agent_id=self._agent(agent_id))

    def merged(
        self,
        a: EntityLike,
        b: EntityLike,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """Two entities are one."""
        return self._emit(
            statement.Merged, envelope, a=entity(a), b=entity(b), reason=reason, agent_id=self._agent(agent_id)
        )

    def unmerged(
        self,
        a: EntityLike,
        b: EntityLike,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """Two entities are not one."""
        return self._emit(
            statement.Unmerged, envelope, a=entity(a), b=entity(b), reason=reason, agent_id=self._agent(agent_id)
        )

    def erased(
        self,
        kind: str | ErasureKind,
        ids: Sequence[str] = (),
        *,
        of_source: str | None = None,
        until: datetime | None = None,
        children: bool = False,
        reason: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """Forget for real: `kind` is event, message, session, user, entity or scope; `ids` are of that kind.

        `of_source` is the source of the events named, where it is not this publisher's own. With `children` a scope, a
        user or a session is forgotten in the scopes below as well.
        """
        return self._emit(
            statement.Erased,
            envelope,
            kind=choice(ErasureKind, kind, "kind"),
            ids=tuple(ids),
            source=of_source,
            until=until,
            children=children,
            reason=reason,
        )


def assertion(event: EventLike, ordinal: int = 0) -> AssertionTarget:
    """The assertion number `ordinal` of an event, as a target for `corrected` and `retracted`."""
    return AssertionTarget(event=event_ref(event), ordinal=ordinal)


def claim(
    subject: EntityLike,
    predicate: str,
    object: EntityLike | str,  # noqa: A002 - the contract's own word
    said_before: datetime | None = None,
) -> AssertionTarget:
    """Whatever said this triple (before a time, if given), as a target for `corrected` and `retracted`."""
    return AssertionTarget(subject=entity(subject), predicate=predicate, said_before=said_before, **_object(object))


def _object(value: EntityLike | str) -> dict[str, Any]:
    return {"value": value} if isinstance(value, str) else {"object": entity(value)}
