"""The demo's look at the register: every event of every feed is in a checkpoint that the witness signed (P7, P8)."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from diwan.chassis.bus import FEEDS
from diwan.cli.demo.checks import Result
from diwan.cli.demo.gather import until
from diwan.cli.stack.stack import Stack
from diwan.client import DiwanClient, DiwanError
from diwan.core import merkle
from diwan.core.hashing import feed_leaf
from diwan.core.transparency.note import NoteMalformed, parse_note
from diwan.core.transparency.policy import parse_policy
from diwan.verifier.signatures import judge_note


class Registered(Struct, frozen=True):
    """The newest proved checkpoint of a feed's log, and the feed's leaves as they were computed from what it shows."""

    service: str
    note: bytes
    leaves: tuple[bytes, ...]


async def read_register(client: DiwanClient, stack: Stack) -> tuple[str, list[Registered]]:
    """Return the policy that the stack trusts, and what is registered of each feed that has events."""
    found = []
    for service, feed_id in FEEDS.items():
        events = [event async for event in client.feed(service).events()]
        if not events:
            continue
        await until(f"feed {service} is proved", partial(_is_proved, client, feed_id, events[-1].global_seq))
        leaves = [
            feed_leaf(feed_id, one.global_seq, one.event.stream_id, one.event.version, one.event.hash) for one in events
        ]
        note = (await client.audit.checkpoint(feed_id)).note
        found.append(Registered(service, note, tuple(leaves)))
    return stack.layout.register_policy.read_text("utf-8"), found


async def _is_proved(client: DiwanClient, feed_id: int, global_seq: int) -> bool:
    try:
        return (await client.audit.checkpoint(feed_id)).size >= global_seq
    except DiwanError as error:
        if error.reason != "CHECKPOINT_NOT_FOUND":
            raise
        return False


def check_register(policy: str, registered: list[Registered]) -> Result:
    """The signatures under the policy, and the root over the leaves: nothing that the register says is believed."""
    name = "every event is in the register, under a witness's signature"
    trusted = parse_policy(policy)
    for one in registered:
        try:
            judged = judge_note(parse_note(one.note), trusted)
        except NoteMalformed as error:
            return Result(name, holds=False, detail=str(error), at_fault=f"feed {one.service}")
        if not judged.is_trusted:
            detail = f"{judged.rule}: {judged.detail}"
            return Result(name, holds=False, detail=detail, at_fault=f"feed {one.service}")
        head = judged.checkpoint
        if head.size < len(one.leaves) or head.root != merkle.root(one.leaves[: head.size]):
            detail = f"the checkpoint of size {head.size} is not over the {len(one.leaves)} events that the feed shows"
            return Result(name, holds=False, detail=detail, at_fault=f"feed {one.service}")
    events = sum(len(one.leaves) for one in registered)
    return Result(name, holds=events > 0, detail=f"{events} events in {len(registered)} logs")
