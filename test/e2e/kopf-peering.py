"""Checks what docs/adopt/kopf.md says of kopf's peering, by kopf's own handler of a KopfPeering."""

import asyncio
import datetime

from kopf import OperatorSettings
from kopf._cogs.aiokits import aiotoggles
from kopf._core.engines import peering


async def pauses(priority, seen_seconds_ago):
    """Returns whether an operator of priority 100 pauses beside a record."""
    settings = OperatorSettings()
    settings.peering.name = "tenants"
    settings.peering.priority = 100
    seen = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seen_seconds_ago)
    record = {"priority": priority, "lifetime": settings.peering.lifetime, "lastseen": seen.isoformat()}
    conflict = await aiotoggles.ToggleSet(any).make_toggle(False)
    handling = peering.process_peering_event(
        raw_event={"type": "MODIFIED", "object": {"metadata": {"name": "tenants"}, "status": {"crashed": record}}},
        namespace="default",
        resource=None,
        identity="next",
        settings=settings,
        autoclean=False,
        conflicts_found=conflict,
    )
    # It would wait for the end of the record.
    try:
        await asyncio.wait_for(handling, 0.2)
    except TimeoutError:
        pass
    return conflict.is_on()


async def main():
    assert OperatorSettings().peering.lifetime == 60
    assert await pauses(priority=100, seen_seconds_ago=1)
    assert not await pauses(priority=100, seen_seconds_ago=61)
    assert await pauses(priority=200, seen_seconds_ago=1)
    assert not await pauses(priority=50, seen_seconds_ago=1)


asyncio.run(main())
