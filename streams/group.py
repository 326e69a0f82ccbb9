"""Letting a consumer group go, so that whoever joins next gets partitions of the topics as they are then."""

from __future__ import annotations

import structlog
from aiokafka.protocol.group import LeaveGroupRequest

from memstream.schemas.errors import BrokerUnavailable
from memstream.settings import Settings
from memstream.streams.broker import admin_client

log = structlog.get_logger(__name__)


async def dissolve(settings: Settings, group: str) -> None:
    """Take every member out of the group; those that live join again by themselves.

    A member that comes back under its name within its session is given what it had, without a look at the topics: of
    one that was made again meanwhile it would get nothing, and nobody would read it.
    """
    try:
        async with admin_client(settings) as admin:
            coordinator = await admin.find_coordinator(group)
            for answer in await admin.describe_consumer_groups([group], coordinator):
                members = [member[0] for described in answer.groups for member in described[5]]
                for member in members:
                    await admin._send_request(LeaveGroupRequest(group, member), coordinator)
                log.info("group_dissolved", group=group, members=len(members))
    except BrokerUnavailable as error:
        log.warning("group_not_dissolved", group=group, why=str(error))
