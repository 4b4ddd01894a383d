"""Hands are found by what they were: the index says what the events say, and answers in bounded work (issue's find)."""

from __future__ import annotations

import asyncio
import json
import random  # noqa: TID251  (tests may use chance)
from collections import Counter
from uuid import UUID, uuid4

import asyncpg
import pytest
from msgspec.structs import asdict, replace

from diwan.api.audit.v1 import audit_service_pb2 as pb
from diwan.chassis.alarms import ALARMS
from diwan.chassis.database import Database
from diwan.core.decider import Rejected
from diwan.core.games.capsa.events import CapsaStarted, PairSettled
from diwan.core.hand import events as hand
from diwan.core.hashing import chain_start
from diwan.core.log import LoggedEvent, StreamKind
from diwan.core.table.commands import RecordOpening, RecordRefusals
from diwan.core.table.events import RefusalCount
from diwan.wire.events import encode
from services.audit.search import indexer, questions
from services.audit.search.facts import Flag
from services.audit.search.indexer import HandIndexer
from services.audit.search.questions import READ_IN_ORDER, Sought, end_statement, find_in, page_statement
from tests.golden.record import HERE
from tests.golden.stored import committed, golden_capsa, golden_hand
from tests.integration.audit.conftest import PASSWORDS, TABLE_FEED, Audit, ListFeed
from tests.integration.audit.hand_rows import BEGAN_MS, STEP_MS, make_hands
from tests.unit.verifier.capsa_logs import played_capsa
from tests.unit.verifier.forging import Insider
from tests.unit.verifier.logs import chained, played

EVERYTHING = Sought()


async def index(audit, events=None):
    """Take a table's feed in, and read every hand of it."""
    made = HandIndexer(audit.database, hands_at_once=3)
    await made.begin()
    if events is not None:
        await audit.take(ListFeed(TABLE_FEED, events))
    while await made.index_due():
        pass
    return made


async def found(audit, sought=EVERYTHING, size=0):
    """Every hand that fits, page by page."""
    hands, token = [], ""
    while True:
        page = await audit.database.run(lambda c, t=token: find_in(c, sought, size, t))
        hands += page.hands
        token = page.next_token
        if not token:
            return hands


def expected(core, hand_id):
    """What the index should say of a hand, put together from its events in another way."""
    begins = next(n for n, e in enumerate(core) if getattr(e, "hand_id", "") == hand_id and hasattr(e, "started_at_ms"))
    ends = next(n for n, e in enumerate(core) if n > begins and isinstance(e, hand.HandEnded))
    inside = core[begins : ends + 1]
    started, ended = inside[0], inside[-1]
    deciders = Counter(getattr(event, "decided_by", "") for event in inside)
    voided = [event for event in inside if isinstance(event, hand.HandVoided)]
    flags = {
        "VOID": ended.result == "void",
        "CLOCK": deciders["clock"] > 0,
        "OPERATOR": deciders["operator"] > 0,
        "INTERRUPTED": any(isinstance(e, hand.DeadlineMoved) for e in inside) or any(
            v.reason == "interrupted" for v in voided
        ),
        "POWERS": any(type(e).__name__ in {"CardGlanced", "CardSwapped", "AnchorDeclared"} for e in inside),
        "ALL_IN": any(getattr(e, "is_all_in", False) for e in inside),
        "BOTS_ONLY": all(seat.is_bot for seat in started.seats),
    }  # fmt: skip
    pot = sum(e.amount for e in inside if isinstance(e, hand.PotAwarded))
    pot += sum(abs(e.chips) for e in inside if isinstance(e, PairSettled))
    pot += sum(share.amount for v in voided for share in v.refunds) + sum(v.carried for v in voided)
    return {
        "hand_no": started.hand_no,
        "game": started.settings.game,
        "started_at_ms": started.started_at_ms,
        "ended_at_ms": ended.ended_at_ms,
        "pot": pot,
        "result": {"uncontested": 1, "showdown": 2, "void": 3}[ended.result],
        "flags": sum(Flag[name] for name, holds in flags.items() if holds),
        "players": [seat.player for seat in started.seats],
        "seats": [seat.seat for seat in started.seats],
        "payoffs": list(ended.payoffs),
        "versions": (begins + 1, ends + 1),
    }


def as_expected(one):
    told = asdict(one)
    return {
        name: told[name] for name in ("hand_no", "game", "started_at_ms", "ended_at_ms", "pot", "result", "flags")
    } | {
        "players": list(one.players),
        "seats": list(one.seats),
        "payoffs": list(one.payoffs),
        "versions": (one.first_version, one.last_version),
    }


@pytest.mark.parametrize(
    "settings",
    [{}, {"game": "omaha", "limit": "pot_limit"}, None],
    ids=["holdem", "omaha", "capsa"],
)
async def test_every_hand_is_found_as_its_events_tell_it(audit, settings):
    table = played_capsa(31, 6) if settings is None else played(31, 8, **settings)
    await index(audit, table.events)

    hands = await found(audit)
    assert {str(one.hand_id): as_expected(one) for one in hands} == {
        hand_id: expected(table.core, hand_id) for hand_id in table.hand_ids
    }
    assert [one.started_at_ms for one in hands] == sorted((one.started_at_ms for one in hands), reverse=True)
    assert {one.table_id for one in hands} == {table.stream}
    assert {one.chips for one in hands} == {1}


async def test_recorded_hands_of_every_game_are_found_as_their_events_tell_them(audit):
    """Powers, answers, void hands of each kind: each a stream of its own, whose table's beginning nobody has."""
    golden = [golden_hand(path.stem) for path in sorted((HERE / "hands").glob("*.json"))]
    golden += [golden_capsa(path.stem) for path in sorted((HERE / "capsa").glob("*.json"))]
    wanted, logs = {}, []
    for number, one in enumerate(golden):
        deck, made = committed(one)
        hand_id = str(UUID(int=number + 1))
        core = [replace(e, hand_id=hand_id) if hasattr(e, "hand_id") else e for e in made.events]
        logs += as_log(core, UUID(int=number + 1), deck)
        wanted[hand_id] = expected(core, hand_id)
    await index(audit, logs)

    hands = {str(one.hand_id): as_expected(one) for one in await found(audit)}
    assert hands == wanted
    assert {flag for flag in Flag if any(told["flags"] & flag for told in hands.values())} >= {
        Flag.VOID, Flag.CLOCK, Flag.INTERRUPTED, Flag.POWERS, Flag.ALL_IN,
    }  # fmt: skip
    assert {told["game"] for told in hands.values()} == {"holdem", "omaha", "naiko", "sarab", "capsa"}
    of_tournaments = {
        hand_id: tournament.tournament_id
        for hand_id, one in zip(wanted, golden, strict=True)
        if (tournament := getattr(one.events[0], "tournament", None)) is not None
    }
    assert of_tournaments
    for hand_id, tournament_id in of_tournaments.items():
        assert hand_id in {str(one.hand_id) for one in await found(audit, Sought(tournament_id=tournament_id))}


def as_log(core, stream_id, deck):
    bodies = [encode(event, nonce=bytes(16), reveal=deck.reveal) for event in core]
    events = [
        LoggedEvent(
            stream_id=stream_id.bytes,
            version=0,
            event_id=uuid4().bytes,
            command_id=uuid4().bytes,
            epoch=1,
            type_id=body.type_id,
            schema_v=body.schema_v,
            recorded_at_ms=1_000,
            body=body.body,
            prev_hash=b"",
            hash=b"",
        )
        for body in bodies
    ]
    return chained(events, chain_start(stream_id.bytes, StreamKind.TABLE))


async def test_each_player_finds_the_hands_that_player_was_dealt_into(audit, table):
    await index(audit, table.events)
    players = {player for hand_id in table.hand_ids for player in expected(table.core, hand_id)["players"]}
    for player in (*players, "nobody"):
        ids = {str(one.hand_id) for one in await found(audit, Sought(players=(player,)), size=1)}
        assert ids == {h for h in table.hand_ids if player in expected(table.core, h)["players"]}


async def test_reading_a_hand_again_changes_nothing(audit, table):
    made = await index(audit, table.events)
    before = await audit.rows("select * from hand_index order by hand_id")
    players = await audit.rows("select * from hand_player order by 1, 2, 3")
    await audit.database.run(lambda c: c.execute("update hand set index_version = 0"))
    while await made.index_due():
        pass

    assert await audit.rows("select * from hand_index order by hand_id") == before
    assert await audit.rows("select * from hand_player order by 1, 2, 3") == players


async def test_a_program_of_another_version_makes_the_index_anew(audit, table, monkeypatch):
    await index(audit, table.events)
    before = await found(audit)
    await audit.database.run(lambda c: c.execute("update hand_index set pot = pot + 1"))
    monkeypatch.setattr(indexer, "VERSION", 2)
    anew = HandIndexer(audit.database)
    await anew.begin()

    page = await audit.database.run(lambda c: find_in(c, EVERYTHING, 0, ""))
    assert (list(page.hands), page.waiting) == ([], len(table.hand_ids))
    while await anew.index_due():
        pass
    assert await found(audit) == before
    await HandIndexer(audit.database).begin()
    assert await found(audit) == before, "the same version leaves it as it is"


async def test_an_older_program_makes_the_index_anew_too(audit, table, monkeypatch):
    """Going back to the version of before: what the newer one has read is read again, all of it."""
    monkeypatch.setattr(indexer, "VERSION", 2)
    await index(audit, table.events)
    before = await found(audit)
    monkeypatch.setattr(indexer, "VERSION", 1)
    monkeypatch.setattr(indexer, "HANDS_FREED_AT_ONCE", 2)
    older = HandIndexer(audit.database)
    await asyncio.gather(older.begin(), HandIndexer(audit.database).begin())
    assert await found(audit) == []
    while await older.index_due():
        pass
    assert await found(audit) == before
    assert len(before) == len(table.hand_ids)


async def test_two_processes_share_the_hands_and_read_each_once(audit):
    table = played(77, 12)
    await audit.take(ListFeed(TABLE_FEED, table.events))

    async def work():
        one, count = HandIndexer(audit.database, hands_at_once=1), 0
        while True:
            done = await one.index_due()
            count += done
            if not done and not await audit.database.run(indexer.waiting_in):
                return count

    await HandIndexer(audit.database).begin()
    assert sum(await asyncio.gather(work(), work())) == len(table.hand_ids)
    assert len(await found(audit)) == len(table.hand_ids)


# --- what is said of a hand when it is over --------------------------------------------------------------------------


async def test_refused_requests_mark_the_hand_before_them(audit):
    table = played(12, 2)
    table.do(RecordRefusals(2, (RefusalCount(0, "NOT_YOUR_TURN", 3),), table.now_ms))
    while table.able() < 2:
        table.sit(1)
    table.play_hand()
    await index(audit, table.events)
    marked = {str(one.hand_id) for one in await found(audit, Sought(flags=Flag.REFUSALS))}
    assert marked == {table.hand_ids[1]}


async def test_a_look_marks_a_hand_that_was_read_long_before_and_an_own_look_does_not(audit):
    table = played(13, 3)
    made = await index(audit, table.events)
    feed = ListFeed(TABLE_FEED, table.events)
    table.do(RecordOpening(table.hand_ids[0], "auditor-1", "auditor", "auditor", "a complaint", "case-7", table.now_ms))
    table.do(RecordOpening(table.hand_ids[1], "player-1", "player", "seat:0", "", "", table.now_ms))
    assert await found(audit, Sought(flags=Flag.LOOKED_AT)) == []
    feed.events = ListFeed(TABLE_FEED, table.events).events
    await audit.take(feed)
    while await made.index_due():
        pass
    assert [str(one.hand_id) for one in await found(audit, Sought(flags=Flag.LOOKED_AT))] == [table.hand_ids[0]]


# --- what cannot be read ---------------------------------------------------------------------------------------------


async def test_a_hand_that_cannot_be_read_is_noted_and_the_others_are_found(audit, table):
    one = Insider(table, 1)
    at = one.find(hand.HandEnded)
    one.change(at, payoffs=(1,))
    before = ALARMS.labels("index")._value.get()
    await index(audit, one.rehash())

    assert {str(each.hand_id) for each in await found(audit)} == set(table.hand_ids) - {one.hand_id}
    ((why,),) = await audit.rows("select why from hand_not_indexed")
    assert "1 payoffs for" in why
    assert ALARMS.labels("index")._value.get() == before + 1
    assert (await audit.database.run(lambda c: find_in(c, EVERYTHING, 0, ""))).waiting == 0


async def test_what_no_database_can_keep_stops_only_its_own_hand(audit, table):
    """A number beyond the columns is found out by the database alone."""
    one = Insider(table, 2)
    at = one.find(hand.HandStarted)
    started = table.core[at]
    seats = (hand.HandSeat(70_000, started.seats[0].player, started.seats[0].stack), *started.seats[1:])
    one.change(at, seats=seats)
    await index(audit, one.rehash())

    assert {str(each.hand_id) for each in await found(audit)} == set(table.hand_ids) - {one.hand_id}
    assert len(await audit.rows("select 1 from hand_not_indexed")) == 1


async def test_of_two_hands_of_one_id_the_first_stays_and_the_other_is_noted(audit, table):
    one = Insider(table, 3)
    at = one.find(hand.HandStarted)
    one.change(at, hand_id=table.hand_ids[0])
    await index(audit, one.rehash())

    hands = {str(each.hand_id): each for each in await found(audit)}
    assert set(hands) == set(table.hand_ids) - {one.hand_id}
    assert hands[table.hand_ids[0]].first_version < at
    ((why,),) = await audit.rows("select why from hand_not_indexed")
    assert "another hand" in why


# --- questions -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded(postgres, migrated):
    """The name of a database with some thousand hands that nobody played."""

    async def prepare():
        await _execute(postgres.superuser_url, f"create database crowded template {migrated}")
        connection = await asyncpg.connect(postgres.url("postgres", postgres.password, "crowded"))
        await make_hands(connection, 1, 3_000, players=40, tables=30, tournament_tables=8)
        await connection.execute("analyze")
        await connection.close()

    asyncio.run(prepare())
    yield "crowded"
    postgres.drop_database("crowded")


async def _execute(url, statement):
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


@pytest.fixture
async def many(postgres, crowded):
    """An audit with those hands, and a row each of what they are found by."""
    database = await Database.open(postgres.url("audit_rw", PASSWORDS["audit_rw"], crowded), size=2)
    opened = Audit(database)
    rows = await opened.rows(
        "select hand_id, started_at_ms, table_id, tournament_id, game, pot, result, flags, players from hand_index"
    )
    yield opened, rows
    await database.close()


def fits(row, sought):
    _, started, table_id, tournament, game, pot, result, flags, players = row
    return (
        set(sought.players) <= set(players)
        and sought.table_id in {None, table_id}
        and sought.tournament_id in {"", tournament}
        and (not sought.games or game in sought.games)
        and started >= sought.from_ms
        and (not sought.to_ms or started < sought.to_ms)
        and pot >= sought.pot_min
        and (not sought.pot_max or pot <= sought.pot_max)
        and (not sought.results or result in sought.results)
        and flags & sought.flags == sought.flags
        and not flags & sought.without
    )


def drawn(chance, rows):
    """A question by chance, with conditions that some hand fulfils."""
    of = chance.choice(rows)
    span = STEP_MS * 3_000
    offers = {
        "players": tuple(chance.sample(of[8], chance.choice([1, 1, 2]))),
        "table_id": of[2],
        "tournament_id": of[3] or "tournament-1",
        "games": tuple(chance.sample(["holdem", "omaha", "capsa", "naiko", "sarab"], chance.choice([1, 1, 3]))),
        "from_ms": BEGAN_MS + chance.randrange(span),
        "to_ms": BEGAN_MS + chance.randrange(span),
        "pot_min": chance.choice([1, 20, of[5], 100, 5_000]),
        "pot_max": chance.choice([of[5], 1_000, 100_000]),
        "results": tuple(chance.sample([1, 2, 3], chance.choice([1, 1, 2]))),
        "flags": chance.choice([Flag(of[7]), *Flag]),
        "without": chance.choice(list(Flag)),
    }
    return Sought(**{name: offers[name] for name in chance.sample(sorted(offers), chance.choice([1, 1, 2, 2, 3]))})


async def test_every_question_is_answered_as_by_looking_at_every_hand(many, monkeypatch):
    """Also where pages end in the middle of what they looked through."""
    audit, rows = many
    chance = random.Random(5)
    for looked_through in (7, 200, 5_000):
        monkeypatch.setattr(questions, "LOOKED_THROUGH", looked_through)
        monkeypatch.setattr(questions, "LOOKED_UP", max(looked_through // 5, 3))
        for _ in range(35 if looked_through > 7 else 5):
            sought = drawn(chance, rows)
            hands = [one.hand_id for one in await found(audit, sought, size=chance.choice([7, 50, 500]))]
            wanted = sorted((row for row in rows if fits(row, sought)), key=lambda row: (row[1], row[0]), reverse=True)
            assert hands == [row[0] for row in wanted], sought


QUESTIONS = {
    "newest": (Sought(), "hand_index_newest"),
    "time": (Sought(from_ms=BEGAN_MS + 1000, to_ms=BEGAN_MS + 10**6), "hand_index_newest"),
    "player": (Sought(players=("player-3",)), "hand_player_pkey"),
    "pair": (Sought(players=("player-3", "player-4"), pot_min=100), "hand_player_pkey"),
    "player at table": (Sought(players=("player-3",), table_id=uuid4()), "hand_index_of_table"),
    "table": (Sought(table_id=uuid4(), flags=Flag.ALL_IN), "hand_index_of_table"),
    "tournament": (Sought(tournament_id="tournament-1"), "hand_index_of_tournament"),
    "game": (Sought(games=("naiko",)), "hand_index_of_game"),
    "pot": (Sought(pot_min=50_000), "hand_index_of_pot"),
    "void": (Sought(results=(3,)), "hand_index_void"),
    **{str(flag.name): (Sought(flags=flag), f"hand_index_{flag.name.lower()}") for flag in Flag if flag.name},
}


@pytest.mark.parametrize("name", QUESTIONS)
async def test_every_question_is_driven_by_an_index_in_the_order_of_time(many, name):
    """No table is read whole, nothing is sorted but what a page holds; so ten million hands cost what thousands do."""
    audit, _ = many
    sought, driver = QUESTIONS[name]
    before = (2**62, UUID(int=2**128 - 1))
    for statement in (page_statement(sought, before, 51), end_statement(sought, before)):
        nodes = await plan(audit, statement)
        assert "Seq Scan" not in {node["Node Type"] for node in nodes}
        assert driver in {node.get("Index Name") for node in nodes}
        sorts = [node for node in nodes if "Sort" in node["Node Type"]]
        assert len(sorts) <= (1 if name == "pot" else 0), [node["Node Type"] for node in nodes]


async def plan(audit, statement, options=""):
    """The nodes of the plan by which a statement is answered, as `find_in` has it answered."""

    async def work(connection):
        await connection.execute(READ_IN_ORDER)
        return await connection.fetchval(f"explain ({options}format json) {statement.text}", *statement.arguments)

    return list(_nodes(json.loads(await audit.database.run(work))[0]["Plan"]))


def _nodes(node):
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


async def test_no_page_looks_at_more_than_its_bound(many, monkeypatch):
    """A condition that no hand fulfils and no index knows: page after page, each with an end."""
    audit, rows = many
    monkeypatch.setattr(questions, "LOOKED_THROUGH", 500)
    pages, token = 0, ""
    while True:
        page = await audit.database.run(lambda c, t=token: find_in(c, Sought(pot_max=1), 50, t))
        pages += 1
        assert page.hands == []
        token = page.next_token
        if not token:
            break
    assert pages == len(rows) // 500 + 1
    statement = page_statement(Sought(pot_max=1), (2**62, UUID(int=2**128 - 1)), 51)
    nodes = await plan(audit, statement, "analyze, ")
    looked = [node for node in nodes if node.get("Relation Name") == "hand_index"]
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in looked) <= 500


async def test_pages_follow_each_other_while_hands_are_added(many):
    audit, rows = many
    first = await audit.database.run(lambda c: find_in(c, EVERYTHING, 500, ""))
    await audit.database.run(lambda c: make_hands(c, 3_001, 3_100, players=40, tables=30), seconds=30)
    hands, token = list(first.hands), first.next_token
    while token:
        page = await audit.database.run(lambda c, t=token: find_in(c, EVERYTHING, 500, t))
        hands += page.hands
        token = page.next_token
    await audit.database.run(
        lambda c: c.execute("delete from hand_index where started_at_ms > $1", BEGAN_MS + 3_000 * STEP_MS)
    )
    assert [one.hand_id for one in hands] == [row[0] for row in sorted(rows, key=lambda r: (r[1], r[0]), reverse=True)]


# --- the contract ----------------------------------------------------------------------------------------------------


async def asked(audit, **fields):
    return await audit.servicer().FindHands(pb.FindHandsRequest(**fields), None)


async def test_an_answer_tells_a_hand_in_the_words_of_the_contract(audit, table):
    await index(audit, table.events)
    await audit.verify()
    answer = await asked(audit, filter={"results": ["HAND_RESULT_SHOWDOWN", "HAND_RESULT_UNCONTESTED"]}, page_size=1)
    one = answer.hands[0]
    told = expected(table.core, one.hand_id)
    assert (one.table_name, one.chips, one.stake, one.bet_limit) == ("verified", 1, 10, "no_limit")
    assert [(seat.seat, seat.player, seat.payoff) for seat in one.seats] == list(
        zip(told["seats"], told["players"], told["payoffs"], strict=True)
    )
    assert {pb.HandFlag.Name(number).removeprefix("HAND_FLAG_") for number in one.flags} == {
        flag.name for flag in Flag(told["flags"])
    }
    assert one.verdict == pb.VERDICT_VERIFIED
    assert answer.next_page_token
    assert answer.waiting == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"page_size": -1}, "PAGE_SIZE_INVALID"),
        ({"page_token": "AAAA"}, "PAGE_TOKEN_INVALID"),
        ({"page_token": "é"}, "PAGE_TOKEN_INVALID"),
        ({"page_token": "aGFuZC8x"}, "PAGE_TOKEN_INVALID"),
        ({"filter": {"table_id": "table 7"}}, "ID_INVALID"),
        ({"filter": {"flags": [77]}}, "FIELD_INVALID"),
        ({"filter": {"without_flags": [0]}}, "FIELD_INVALID"),
        ({"filter": {"from_ms": -1}}, "FIELD_INVALID"),
        ({"filter": {"to_ms": 2**62}}, "FIELD_INVALID"),
        ({"filter": {"pot_min": -5}}, "FIELD_INVALID"),
        ({"filter": {"players": [str(n) for n in range(10)]}}, "FIELD_INVALID"),
        ({"filter": {"players": ["a\0b"]}}, "FIELD_INVALID"),
        ({"filter": {"results": [9]}}, "FIELD_INVALID"),
    ],
)
async def test_a_question_that_is_none_is_refused(audit, fields, reason):
    with pytest.raises(Rejected) as refused:
        await asked(audit, **fields)
    assert refused.value.reason == reason


async def test_a_page_of_another_question_is_refused(many):
    audit, _ = many
    answer = await asked(audit, filter={"games": ["holdem"]}, page_size=1)
    with pytest.raises(Rejected) as refused:
        await asked(audit, filter={"games": ["omaha"]}, page_token=answer.next_page_token)
    assert refused.value.reason == "PAGE_TOKEN_INVALID"
    assert (await asked(audit, filter={"games": ["holdem"]}, page_token=answer.next_page_token)).hands


async def test_what_was_looked_at_cannot_be_unmarked_by_the_service(audit):
    """The note of a look is only ever added."""
    for statement in ("update hand_look set version = 1", "delete from hand_look"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await audit.database.run(lambda c, s=statement: c.execute(s))


def test_the_capsa_beginning_is_a_beginning():
    """The index knows both kinds; here so that a third one would be noticed."""
    from diwan.core.table import playing

    assert set(playing.StartedEvent.__value__.__args__) == {hand.HandStarted, CapsaStarted}
