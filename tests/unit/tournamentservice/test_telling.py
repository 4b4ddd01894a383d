"""What is told: views, one's own part, streams that fall behind, what is in requests."""

import asyncio
from uuid import UUID

import pytest
from msgspec.structs import replace

from diwan.api.event.v1 import tournament_pb2
from diwan.api.tournament.v1 import tournament_service_pb2 as pb
from diwan.chassis.store import StoredEvent
from diwan.core.decider import Rejected
from diwan.core.tournament import events as told
from diwan.wire.events import encode
from diwan.wire.tournament import write_tournament_config
from services.tournament import fields
from services.tournament.concerned import concerned_by
from services.tournament.conditions import conditions_message
from services.tournament.hub import FRAMES_MAX, Hub
from services.tournament.index import EntryLine, PaymentLine
from services.tournament.notices import About, notices_of
from services.tournament.templates import templates
from services.tournament.views import Shown, own_message, standings, view_message
from tests.bench.bench_tournament import begun
from tests.property.tournament_fields import sit_and_go
from tests.property.tournament_sim import Simulation

T = UUID(int=9)


@pytest.fixture(scope="module")
def played():
    """A whole tournament of 12 at tables of 4: every state of it, by version."""
    simulation = Simulation(sit_and_go(12, 4), 12, 3)
    simulation.run()
    return simulation


def test_places_and_prizes_are_told_as_they_were_paid(played):
    state = played.state
    ranked = standings(state)

    assert [each.place for each in ranked] == sorted(each.place for each in ranked)
    assert ranked[0].player == state.winner
    assert sum(each.prize for each in ranked) == sum(state.prizes)
    for each in ranked:
        own = own_message(state, each.player)
        assert (own.place, own.prize) == (each.place, each.prize)
    assert standings(state, 3) == ranked[:3]


def test_a_view_counts_what_there_is():
    state = begun(sit_and_go(18), 18)
    view = view_message(state)

    assert (view.phase, view.entries, view.players_left, view.tables) == ("playing", 18, 18, 2)
    assert view.chips_in_play == 18 * state.config.starting_stack
    assert view.average_stack == state.config.starting_stack
    assert view.level.level_no == 1
    assert view.next_level.big_blind > view.level.big_blind
    assert view.level.ends_at_ms == state.clock.base_ms + state.config.ladder.levels[0].duration_ms
    own = own_message(state, "p3")
    table = next(each for each in state.tables.values() if each.table_id == own.table_id)
    assert (own.table_no, own.stack) == (table.table_no, state.config.starting_stack)
    assert table.sitter("p3").seat == own.seat
    assert own_message(state, "nobody") is None


def test_who_asks_again_and_again_makes_nobody_count_again():
    """P12: a view belongs to its state, an order of standings may be a second old."""
    state = begun(sit_and_go(18), 18)
    now = [0.0]
    shown = Shown(lambda: now[0])

    assert shown.view(state) is shown.view(state)
    version, first = shown.standings(state)
    newer = replace(state, version=state.version + 1)
    assert shown.view(newer) is not shown.view(state)
    assert shown.standings(newer) == (version, first)
    now[0] = 1.5
    assert shown.standings(newer)[0] == newer.version


def test_whoever_may_be_concerned_is():
    assert concerned_by([told.LevelBegan(1, is_break=False, ends_at_ms=0, at_ms=1)]) == set()
    assert concerned_by([told.TournamentFinished(1)]) is None
    assert concerned_by([told.EntrantSeated(1, 1, "m", "ann", 2, 1)]) == {"ann"}


class Stored:
    """Events with versions, as the store gives them."""

    def __init__(self):
        self.version = 0

    def next(self, event=None):
        self.version += 1
        one = encode(event or told.RedrawDone(1), nonce=bytes(16))
        body = (one.type_id, one.schema_v, 1, one.body, b"", b"")
        return StoredEvent(T, self.version, T, T, 1, *body)


async def messages(watcher):
    found = []
    while (frame := watcher.take()) is not None:
        found.append(pb.WatchTournamentResponse.FromString(frame))
    return found


async def test_a_newcomer_gets_a_snapshot_and_its_own_part_and_who_falls_behind_another():
    state = begun(sit_and_go(18), 18)
    hub = Hub(lambda: 1)
    hub.reset(state, ())
    watcher = hub.attach("p3", 0)

    first, own = await messages(watcher)
    assert first.update.is_snapshot
    assert own.own.player == "p3"

    for _ in range(FRAMES_MAX + 5):
        watcher.push(b"")
    behind = await messages(watcher)
    assert [each.WhichOneof("message") for each in behind] == ["update", "own"]
    assert behind[0].update.is_snapshot
    with pytest.raises(Rejected, match="VERSION_OUT_OF_RANGE"):
        hub.attach(None, state.version + 1)
    hub.end(None)


async def test_events_of_a_moment_come_in_one_message_and_ones_own_part_at_once():
    state = begun(sit_and_go(18), 18)
    hub, store = Hub(lambda: 1), Stored()
    store.version = state.version - 3
    hub.reset(state, ())
    watcher, stranger = hub.attach("p3", state.version), hub.attach("nobody", state.version)
    await messages(watcher), await messages(stranger)
    watcher.own = b""  # as if its part had changed since

    for _ in range(3):
        hub.publish(state, [store.next()], {"p3"})

    assert [each.WhichOneof("message") for each in await messages(watcher)] == ["own"]
    assert await messages(stranger) == []
    await asyncio.sleep(0.15)  # a tenth of a second is gathered
    (update,) = await messages(stranger)
    assert len(update.update.events) == 3
    assert update.update.HasField("view")
    late = hub.attach(None, state.version - 2)
    (missed,) = await messages(late)
    assert [event.version for event in missed.update.events] == [state.version - 1, state.version]
    hub.end(None)


def test_notices_are_for_people_and_say_what_happened():
    lines = {1: EntryLine(T, 1, "ann", False, False, False), 2: EntryLine(T, 2, "bot:x", True, False, False)}  # noqa: FBT003
    about = About(lines, {(T, 1): "table"}, {(T, "prize/1/ann"): PaymentLine("ann", "prize", 90)})

    def kinds(event):
        return [(each.player, each.kind) for each in notices_of(T, event, about)]

    assert kinds(told.EntryAccepted(1, 5)) == [("ann", "registered")]
    assert kinds(told.EntryAccepted(2, 5)) == []
    assert kinds(told.PlayBegan(1, 5, 5)) == [("ann", "started")]
    settled = told.PaymentSettled("prize/1/ann", 0, False, "", 5)  # noqa: FBT003
    assert [(each.kind, each.amount) for each in notices_of(T, settled, about)] == [("prize", 90)]
    seated = next(notices_of(T, told.EntrantSeated(1, 1, "m", "ann", 0, 5), about))
    assert (seated.table_id, seated.seat) == ("table", 0)


def test_parts_that_are_left_out_whole_are_as_usual_and_nonsense_is_named():
    config = sit_and_go(6)
    message = tournament_pb2.TournamentConfig()
    write_tournament_config(message, config)
    for part in ("entries", "payout", "floor", "bots", "tables", "hand"):
        message.ClearField(part)

    assert fields.config(message) == config
    message.kind = "carnival"
    with pytest.raises(Rejected, match="FIELD_INVALID"):
        fields.config(message)
    with pytest.raises(Rejected, match="REASON_REQUIRED"):
        fields.reason("  ")


@pytest.mark.parametrize("name", sorted(templates()))
def test_conditions_of_every_template_say_what_may_be_won(name):
    config = templates()[name]
    conditions = conditions_message(config)

    assert (conditions.entry, conditions.fee) == (config.entry, config.fee)
    assert bool(conditions.multipliers) != bool(conditions.payouts)
    assert conditions.has_bots == (config.bots.up_to > 0)
    if conditions.multipliers:
        weights = conditions.multipliers[0].weights
        assert sum(line.weight for line in conditions.multipliers) == weights
        assert sum(line.weight * line.times for line in conditions.multipliers) == 3 * weights
