"""Each of the demo's checks fails when what it looks at is spoiled, and names the hand."""

import json
import os
import signal
from contextlib import asynccontextmanager

import asyncpg
import pytest

from diwan.chassis.bus import Bus, stream_name
from diwan.cli.stack.stack import superuser_database_url
from diwan.core.hand.events import BoardDealt, HandEnded, HandStarted
from diwan.core.hashing import event_hash
from diwan.wire.events import decode

pytestmark = pytest.mark.timeout(240)


@asynccontextmanager
async def owner_of(house, service):
    """A connection of the database's superuser with every trigger out of the way."""
    connection = await asyncpg.connect(superuser_database_url(house.stack.places, f"diwan_{service}"))
    try:
        await connection.execute("set session_replication_role = replica")
        yield connection
    finally:
        await connection.close()


async def hands_of(house):
    """Every hand as (hand id, stream, {event type: stored row})."""
    async with owner_of(house, "table") as connection:
        rows = await connection.fetch("select * from event order by stream_id, version")
    hands, running = [], None
    for row in rows:
        event = decode(row["type_id"], row["schema_v"], row["body"]).event
        if isinstance(event, HandStarted):
            running = (event.hand_id, row["stream_id"], {})
            hands.append(running)
        if running is not None and type(event) not in running[2]:
            running[2][type(event)] = row
    return hands


async def rewrite(connection, stream_id, version, body, *, rehash):
    """Put another body in place of an event's; with ``rehash`` as an owner would who mends the chain behind it."""
    rows = await connection.fetch(
        "select * from event where stream_id = $1 and version >= $2 order by version", stream_id, version
    )
    before = rows[0]["prev_hash"]
    for row in rows if rehash else rows[:1]:
        content = body if row["version"] == version else row["body"]
        digest = row["hash"]
        if rehash:
            moment = row["recorded_at_ms"]
            command = row["command_id"].bytes
            place = (stream_id.bytes, row["version"], row["type_id"], row["schema_v"])
            digest = event_hash(before, *place, moment, command, content)
        await connection.execute(
            "update event set body = $3, prev_hash = $4, hash = $5 where stream_id = $1 and version = $2",
            stream_id, row["version"], content, before if rehash else row["prev_hash"], digest,
        )  # fmt: skip
        before = digest
    return rows


async def restore(connection, rows):
    for row in rows:
        await connection.execute(
            "update event set body = $3, prev_hash = $4, hash = $5 where stream_id = $1 and version = $2",
            row["stream_id"], row["version"], row["body"], row["prev_hash"], row["hash"],
        )  # fmt: skip


async def test_an_honest_house_passes_every_check(house):
    results = house.untouched

    assert results
    assert {name: result.holds for name, result in results.items()} == dict.fromkeys(results, True)


async def test_a_flipped_byte_is_found_in_its_hand(house):
    hand_id, stream_id, events = (await hands_of(house))[3]
    row = events[HandEnded]
    spoiled = bytes([*row["body"][:-1], row["body"][-1] ^ 1])

    async with owner_of(house, "table") as connection:
        rows = await rewrite(connection, stream_id, row["version"], spoiled, rehash=False)
        try:
            results = await house.results()
        finally:
            await restore(connection, rows)

    assert not results["digest"].holds
    assert results["digest"].at_fault == f"hand {hand_id}"


async def test_a_changed_card_is_found_even_when_the_chain_was_mended_behind_it(house):
    """F3: an owner of the database who re-hashes everything after it cannot make the proof."""
    hand_id, stream_id, events = next(hand for hand in await hands_of(house) if BoardDealt in hand[2])
    row = events[BoardDealt]
    reveal = decode(row["type_id"], row["schema_v"], row["body"]).reveals[0]
    at = row["body"].index(reveal.salt) - 3  # field 2, its varint, then the tag and length of the salt
    spoiled = bytearray(row["body"])
    assert spoiled[at] == reveal.card
    spoiled[at] = (reveal.card + 1) % 52 or 1

    async with owner_of(house, "table") as connection:
        rows = await rewrite(connection, stream_id, row["version"], bytes(spoiled), rehash=True)
        try:
            results = await house.results()
        finally:
            await restore(connection, rows)

    assert not results["cards"].holds
    assert results["cards"].at_fault == f"hand {hand_id}"


async def test_a_changed_result_is_found_when_the_acts_are_decided_again(house):
    """An owner pays one seat the other's chips and mends the chain: the rules say otherwise."""

    def payoffs_of(row):
        return decode(row["type_id"], row["schema_v"], row["body"]).event.payoffs

    hands = [(*hand[:2], hand[2][HandEnded], payoffs_of(hand[2][HandEnded])) for hand in (await hands_of(house))[2:]]
    # The first and the last of them are exchanged below.
    hand_id, stream_id, row, payoffs = next(hand for hand in hands if hand[3][0] != hand[3][-1])
    packed = b"".join(_varint(each) for each in payoffs)
    swapped = b"".join(_varint(each) for each in (payoffs[-1], *payoffs[1:-1], payoffs[0]))
    assert packed in row["body"]
    assert packed != swapped

    async with owner_of(house, "table") as connection:
        spoiled = row["body"].replace(packed, swapped)
        rows = await rewrite(connection, stream_id, row["version"], spoiled, rehash=True)
        try:
            results = await house.results()
        finally:
            await restore(connection, rows)

    assert not results["acts"].holds
    assert results["acts"].at_fault == f"hand {hand_id}"


async def test_a_chip_moved_between_escrows_is_found_though_the_sum_is_still_zero(house):
    """The last hand that changed the escrow is named."""
    async with owner_of(house, "wallet") as connection:
        # Sums of mid-play were taken when the wallet said so; a wallet that lied by one chip would have said this.
        totals = house.totals[0]
        giver, taker = sorted(name for name, chips in totals.balances.items() if chips > 1)[:2]
        balances = totals.balances | {giver: totals.balances[giver] - 1, taker: totals.balances[taker] + 1}
        kept = house.totals
        house.totals = [type(totals)(totals.table_feed_cursor, totals.sum, balances, totals.quarantined)]
        try:
            results = await house.results()
        finally:
            house.totals = kept
        assert await connection.fetchval("select sum(balance) from account") == 0

    assert not results["ledger"].holds
    assert results["ledger"].at_fault.startswith("hand ")
    assert giver in results["ledger"].detail


async def test_a_chip_made_from_nothing_is_found(house):
    async with owner_of(house, "wallet") as connection:
        spoil = "update account set balance = balance + $1 where kind = 'bots'"
        await connection.execute(spoil, 1)
        try:
            results = await house.results()
        finally:
            await connection.execute(spoil, -1)

    assert not results["ledger"].holds
    assert results["ledger"].detail == "the accounts sum to 1"


async def test_a_changed_transfer_is_found_in_its_commit_though_every_balance_is_right(house):
    """The wallet folds its own events again; triggers are off for whoever owns the database."""
    async with owner_of(house, "wallet") as connection:
        row = await connection.fetchrow("select * from transfer where code = 'hand' order by ledger_version limit 1")
        spoil = "update transfer set amount = amount + $2 where transfer_id = $1"
        await connection.execute(spoil, row["transfer_id"], 1)
        try:
            results = await house.results()
        finally:
            await connection.execute(spoil, row["transfer_id"], -1)

    assert not results["ledger"].holds
    assert results["ledger"].at_fault == f"ledger version {row['ledger_version']}"
    assert f"amount {row['amount'] + 1} instead of {row['amount']}" in results["ledger"].detail


async def test_a_dropped_message_is_found_in_its_hand(house):
    """The bus's administrator makes the copy anew without one message of a hand, while the relay cannot look."""
    hand_id, stream_id, events = (await hands_of(house))[4]
    async with owner_of(house, "table") as connection:
        dropped = await connection.fetchval(
            "select global_seq from feed where stream_id = $1 and version = $2", stream_id, events[HandEnded]["version"]
        )
    bus = Bus.start(house.stack.admin_nats_url(), "spoiler")
    try:
        await bus.ready()
        last = (await bus.stream_state("table")).last_seq
        messages = [await bus.message("table", number) for number in range(1, last + 1)]
        try:
            await forge_copy(house, bus, messages, dropped)
            results = await house.results()
        finally:
            await forge_copy(house, bus, messages)  # whole again, for the other tests of this house
    finally:
        await bus.close()

    assert not results["copies"].holds
    assert results["copies"].at_fault == f"hand {hand_id}"


async def test_a_hand_that_the_audit_has_not_verified_is_found(house):
    """The audit's own word counts, beside what the demo finds by itself."""
    async with owner_of(house, "audit") as connection:
        spoil = "update hand set verdict = $1 where hand_id = (select min(hand_id) from hand)"
        await connection.execute(spoil, 2)
        try:
            results = await house.results()
        finally:
            await connection.execute(spoil, 1)

    assert not results["audit"].holds
    assert results["audit"].detail == "1 not verified, 0 cannot say"
    assert results["digest"].holds


async def forge_copy(house, bus, messages, dropped=None):
    """Make the table's copy anew from its messages, if wanted without one, while the relay is held still."""
    name = stream_name("table")
    relay = house.stack.child("table").pid
    os.kill(relay, signal.SIGSTOP)
    try:
        config = (await bus.request(f"$JS.API.STREAM.INFO.{name}", b""))["config"]
        await bus.request(f"$JS.API.STREAM.DELETE.{name}", b"")
        await bus.request(f"$JS.API.STREAM.CREATE.{name}", json.dumps(config | {"deny_delete": False}).encode())
        for message in messages:
            headers = {key: value for key, value in message.headers.items() if not key.startswith("Nats-")}
            await bus.request(message.subject, message.body, headers=headers)
        if dropped is not None:
            drop = json.dumps({"seq": dropped, "no_erase": True}).encode()
            await bus.request(f"$JS.API.STREAM.MSG.DELETE.{name}", drop)
    finally:
        os.kill(relay, signal.SIGCONT)


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
