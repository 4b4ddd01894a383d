"""Who looked at hidden cards, when and why: told to auditors, and to operators of themselves."""

from __future__ import annotations

import json

import pytest

from diwan.api.audit.v1 import looks_pb2 as pb
from diwan.chassis.access import Caller, Role
from diwan.chassis.calls import Call
from diwan.core.decider import Rejected
from diwan.core.table.commands import RecordOpening
from services.audit.looks import NEWEST, Sought, statement
from tests.integration.audit.conftest import TABLE_FEED, ListFeed
from tests.unit.verifier.logs import played

NOOR, AMAL = Caller("noor", Role.AUDITOR), Caller("amal", Role.OPERATOR)


async def looks(audit, caller=NOOR, **asked):
    request = pb.ListLooksRequest(**asked)
    return await audit.servicer().ListLooks(request, Call("/ListLooks", "test", caller))


async def refusal(audit, caller=NOOR, **asked):
    with pytest.raises(Rejected) as refused:
        await looks(audit, caller, **asked)
    return refused.value.reason


@pytest.fixture
async def looked_at(audit):
    """A table of two hands, looked at by an auditor, two operators and a player; returns it."""
    table = played(21, 2)
    first, second = table.hand_ids[:2]
    for hand_id, who, role, lens, reason, case_id in (
        (first, "noor", "auditor", "auditor", "complaint of ben", "case-7"),
        (first, "amal", "operator", "seat:1", "complaint of ben", "case-7"),
        (second, "player-1", "player", "seat:0", "", ""),
        (second, "rami", "operator", "seat:2", "curious", ""),
        (second, "amal", "operator", "seat:2", "complaint of zoe", "case-8"),
    ):
        table.now_ms += 1_000
        table.do(RecordOpening(hand_id, who, role, lens, reason, case_id, table.now_ms))
    await audit.take(ListFeed(TABLE_FEED, table.events))
    return table


async def test_an_auditor_is_told_who_looked_at_a_hand_when_and_why_newest_first(audit, looked_at):
    found = (await looks(audit, hand_id=looked_at.hand_ids[0])).looks
    assert [(one.opened_by, one.role, one.lens, one.reason, one.case_id) for one in found] == [
        ("amal", "operator", "seat:1", "complaint of ben", "case-7"),
        ("noor", "auditor", "auditor", "complaint of ben", "case-7"),
    ]
    assert found[0].opened_at_ms == found[1].opened_at_ms + 1_000
    event = looked_at.events[found[0].version - 1]
    assert (found[0].table_id, event.type_id) == (str(looked_at.stream), 53)
    assert [one.opened_by for one in (await looks(audit)).looks] == ["amal", "rami", "amal", "noor"]
    assert [one.reason for one in (await looks(audit, opened_by="rami")).looks] == ["curious"]
    assert not (await looks(audit, hand_id="7f0c4a52-95b4-5b52-9b0e-3a4f5d6c7b8a")).looks


async def test_looks_back_at_the_own_seat_are_told_where_they_are_asked_for(audit, looked_at):
    hand_id = looked_at.hand_ids[1]
    assert [one.opened_by for one in (await looks(audit, hand_id=hand_id)).looks] == ["amal", "rami"]
    found = (await looks(audit, hand_id=hand_id, includes_own=True)).looks
    assert [(one.opened_by, one.is_own) for one in found] == [("amal", False), ("rami", False), ("player-1", True)]


async def test_an_operator_is_told_of_the_own_looks_and_of_nobody_elses(audit, looked_at):
    """Else whoever looks without a right would know when somebody looks after it."""
    assert [one.case_id for one in (await looks(audit, AMAL)).looks] == ["case-8", "case-7"]
    assert [one.case_id for one in (await looks(audit, AMAL, hand_id=looked_at.hand_ids[0])).looks] == ["case-7"]
    assert not (await looks(audit, Caller("chief", Role.OPERATOR), includes_own=True)).looks
    assert await refusal(audit, AMAL, opened_by="rami") == "PERMISSION_DENIED"


@pytest.mark.usefixtures("looked_at")
async def test_pages_join_without_a_seam_and_are_bound_to_their_question(audit):
    found, token, pages = [], "", 0
    while True:
        page = await looks(audit, includes_own=True, page_size=2, page_token=token)
        found += page.looks
        pages += 1
        token = page.next_page_token
        if not token:
            break
        other = page.next_page_token
    assert (len(found), pages) == (5, 3)
    assert [one.global_seq for one in found] == sorted({one.global_seq for one in found}, reverse=True)
    assert await refusal(audit, page_size=2, page_token=other) == "PAGE_TOKEN_INVALID"
    assert await refusal(audit, AMAL, includes_own=True, page_token=other) == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"hand_id": "hand 7"}, "ID_INVALID"),
        ({"opened_by": "a\0b"}, "FIELD_INVALID"),
        ({"opened_by": "a" * 129}, "FIELD_INVALID"),
        ({"page_size": -1}, "PAGE_SIZE_INVALID"),
        ({"page_size": 501}, "PAGE_SIZE_INVALID"),
        ({"page_token": "nonsense"}, "PAGE_TOKEN_INVALID"),
        ({"page_token": "é"}, "PAGE_TOKEN_INVALID"),
    ],
)
async def test_a_question_that_is_none_is_refused(audit, asked, reason):
    assert await refusal(audit, **asked) == reason


@pytest.mark.parametrize(
    ("sought", "index"),
    [
        (Sought(), "hand_look_of_others"),
        (Sought(includes_own=True), "hand_look_pkey"),
        (Sought(hand_id="h"), "hand_look_at"),
        (Sought(opened_by="amal"), "hand_look_by"),
    ],
)
async def test_every_question_is_driven_by_an_index_in_the_order_of_the_feed(audit, sought, index):
    """So a page costs what it holds, however many looks there were."""
    text, arguments = statement(sought, NEWEST, 51)

    async def work(connection):
        await connection.execute("set local enable_seqscan = off; set local enable_sort = off; analyze hand_look")
        return await connection.fetchval(f"explain (format json) {text}", *arguments)

    told = json.dumps(json.loads(await audit.database.run(work)))
    assert index in told
    assert '"Sort"' not in told
