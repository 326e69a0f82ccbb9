"""Methods for what is said and done: conversation, traces and tool calls, feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from memstream.client.minting import Envelope, EventLike, Handed, Methods, choice, event_ref
from memstream.schemas import conversation, feedback, tools
from memstream.schemas.conversation import Role
from memstream.schemas.feedback import Served, Target, TargetKind
from memstream.schemas.tools import Environment, ToolStatus


class ConversationMethods(Methods[Handed]):
    """Events of the conversation topic."""

    def message(
        self,
        session_id: str | None,
        role: str | Role,
        content: str,
        *,
        name: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        reply_to: EventLike | None = None,
        tool_call_id: str | None = None,
        recalled: bool = False,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """One message of a session (None: the publisher's own). `role` is user, assistant, system or tool.

        The publisher's user_id goes with what a user says, its agent_id with the rest: they name who speaks.
        """
        speaker = choice(Role, role, "role")
        if speaker is Role.USER:
            user_id = self._user(user_id)
        else:
            agent_id = self._agent(agent_id)
        return self._emit(
            conversation.Message,
            envelope,
            session_id=self._session(session_id),
            role=speaker,
            content=content,
            name=name,
            agent_id=agent_id,
            user_id=user_id,
            reply_to=event_ref(reply_to),
            tool_call_id=tool_call_id,
            recalled=recalled,
            metadata=dict(metadata or {}),
        )

    def session_started(
        self,
        session_id: str | None = None,
        *,
        title: str | None = None,
        ttl_seconds: int | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A session begins. It is not needed: a session exists from its first event on."""
        return self._emit(
            conversation.SessionStarted,
            envelope,
            session_id=self._session(session_id),
            title=title,
            ttl_seconds=ttl_seconds,
            agent_id=self._agent(agent_id),
            user_id=self._user(user_id),
            metadata=dict(metadata or {}),
        )

    def session_ended(
        self, session_id: str | None = None, *, reason: str | None = None, **envelope: Unpack[Envelope]
    ) -> Handed:
        """A session ends."""
        return self._emit(conversation.SessionEnded, envelope, session_id=self._session(session_id), reason=reason)

    def document(
        self,
        document_id: str,
        title: str,
        text: str,
        *,
        uri: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A text that was handed over, to be cited."""
        return self._emit(
            conversation.Document,
            envelope,
            document_id=document_id,
            title=title,
            text=text,
            uri=uri,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
            user_id=user_id,
            metadata=dict(metadata or {}),
        )


class ToolMethods(Methods[Handed]):
    """Events of the tool-call topic."""

    def trace_started(
        self,
        trace_id: str,
        task: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        initiated_by: EventLike | None = None,
        parent_trace_id: str | None = None,
        parent_step_id: str | None = None,
        environment: Environment | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A run on a task begins; where an agent called another, the parent ids tell at which step of which run."""
        return self._emit(
            tools.TraceStarted,
            envelope,
            trace_id=trace_id,
            task=task,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
            initiated_by=event_ref(initiated_by),
            parent_trace_id=parent_trace_id,
            parent_step_id=parent_step_id,
            environment=environment,
            metadata=dict(metadata or {}),
        )

    def step(
        self,
        trace_id: str,
        step_id: str,
        *,
        thought: str | None = None,
        action: str | None = None,
        observation: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """One step of a trace: thought, action, observation."""
        return self._emit(
            tools.Step,
            envelope,
            trace_id=trace_id,
            step_id=step_id,
            thought=thought,
            action=action,
            observation=observation,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )

    def tool_call(
        self,
        call_id: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        status: str | ToolStatus = ToolStatus.SUCCESS,
        result: Any = None,
        error: str | None = None,
        duration_ms: float | None = None,
        trace_id: str | None = None,
        step_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        message: EventLike | None = None,
        environment: Environment | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A tool call: `pending` when it starts, and once more with the same `call_id` when it is done; or only then.

        `status` is pending, success, failure, error, timeout or cancelled.
        """
        return self._emit(
            tools.ToolCall,
            envelope,
            call_id=call_id,
            tool=tool,
            arguments=dict(arguments or {}),
            status=choice(ToolStatus, status, "status"),
            result=result,
            error=error,
            duration_ms=duration_ms,
            trace_id=trace_id,
            step_id=step_id,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
            message=event_ref(message),
            environment=environment,
            metadata=dict(metadata or {}),
        )

    def trace_completed(
        self,
        trace_id: str,
        *,
        outcome: str | None = None,
        success: bool | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """A run ends. Leave `success` out where nobody judged it."""
        return self._emit(
            tools.TraceCompleted,
            envelope,
            trace_id=trace_id,
            outcome=outcome,
            success=success,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )


class FeedbackMethods(Methods[Handed]):
    """Events of the feedback topic."""

    def recalled(
        self,
        recall_id: str,
        query: str,
        items: Sequence[Served | tuple[str, str]],
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """What one recall served: `items` as Served or as (kind, id), the best first."""
        served = [item if isinstance(item, Served) else Served(kind=item[0], id=item[1]) for item in items]
        return self._emit(
            feedback.Recalled,
            envelope,
            recall_id=recall_id,
            query=query,
            items=served,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
        )

    def rated(
        self,
        *,
        recall_id: str | None = None,
        target: Target | tuple[str, str] | None = None,
        used: Sequence[str] = (),
        useful: Sequence[str] = (),
        not_useful: Sequence[str] = (),
        neutral: Sequence[str] = (),
        update_unrated_used: bool = True,
        reward: float | None = None,
        comment: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **envelope: Unpack[Envelope],
    ) -> Handed:
        """How a recall or a `target` was rated: (kind, id) of a trace, step, tool_call, session, message or memory."""
        if isinstance(target, tuple):
            target = Target(kind=choice(TargetKind, target[0], "target kind"), id=target[1])
        return self._emit(
            feedback.Rated,
            envelope,
            recall_id=recall_id,
            target=target,
            used=tuple(used),
            useful=tuple(useful),
            not_useful=tuple(not_useful),
            neutral=tuple(neutral),
            update_unrated_used=update_unrated_used,
            reward=reward,
            comment=comment,
            session_id=self._session(session_id),
            agent_id=self._agent(agent_id),
            metadata=dict(metadata or {}),
        )
