"""Entrants' seeds in the first draw: committed to, asked for once the list stands, opened, mixed in (F1, F2, F7)."""

from hashlib import sha256

import pytest

from diwan.core.fairness import draw, draw_order
from diwan.core.tournament import commands as c
from diwan.core.tournament import events as e
from diwan.core.tournament.decide import decide
from diwan.core.tournament.registration import DRAW_OVERDUE_MS
from diwan.core.tournament.settings import EntryTerms
from diwan.core.tournament.spin import LABEL, weights_of
from diwan.core.tournament.timing import next_due_ms
from tests.property.tournament_fields import a_spin, scheduled, sit_and_go
from tests.property.tournament_sim import START_MS, TOURNAMENT_ID
from tests.unit.tournament.floor import Floor, pay_of

START = EntryTerms(starts_at_ms=START_MS + 60_000)
LATE = EntryTerms(starts_at_ms=START_MS + 60_000, late_levels=1)


def seed_of(player):
    return sha256(player.encode()).digest()


def waiting(config=None, committed=("ann", "cid"), players=("ann", "ben", "cid")):
    """Return a tournament whose seats are taken and whose first draw waits for the seeds of some."""
    floor = Floor(config or sit_and_go(3, size=3))
    for player in players:
        floor.enter(player, seed=seed_of(player) if player in committed else None)
    if floor.config.kind == "scheduled":
        floor.tick(floor.config.entries.starts_at_ms)
    assert floor.told(e.Drawn) == []
    return floor


def opens(floor, player, seed=None):
    return floor.do(c.OpenSeed(player, seed or seed_of(player), floor.now))


def test_the_first_draw_waits_for_the_seeds_that_are_committed_to_and_mixes_them_in():
    floor = waiting()
    asked = floor.told(e.SeedsAsked)[0]
    assert next_due_ms(floor.state) == asked.until_ms == floor.now + 5_000
    opens(floor, "cid")
    assert floor.told(e.Drawn) == []
    opens(floor, "ann")
    floor.obey()
    drawn = floor.told(e.Drawn)[0]
    mixed = {0: asked.entrants_digest, 1: seed_of("ann"), 3: seed_of("cid")}
    order = draw_order(drawn.secret, "places/v1", TOURNAMENT_ID, 3, seeds=mixed)

    assert drawn.entrants_digest == asked.entrants_digest
    given = [given.player for given in floor.told(e.SeatsDrawn)[0].seats]
    assert given == [("ann", "ben", "cid")[number] for number in order]
    assert floor.state.phase == "playing"


def test_a_seed_that_is_kept_back_is_waited_for_no_longer_and_not_mixed_in():
    floor = waiting()
    opens(floor, "ann")
    floor.tick(floor.told(e.SeedsAsked)[0].until_ms - 1)
    assert floor.told(e.Drawn) == []
    floor.tick(floor.now + 1)
    drawn = floor.told(e.Drawn)[0]
    order = draw_order(drawn.secret, "places/v1", TOURNAMENT_ID, 3, seeds={0: drawn.entrants_digest, 1: seed_of("ann")})

    given = [given.player for given in floor.told(e.SeatsDrawn)[0].seats]
    assert given == [("ann", "ben", "cid")[number] for number in order]
    assert floor.refuse(c.OpenSeed("cid", seed_of("cid"), floor.now)) == "SEED_NOT_ASKED"


def test_a_multiplier_is_another_one_with_the_seeds_of_others():
    """F1: whoever holds the secret and all but one seed does not know the line, however the last entrant is called."""
    lines = set()
    for number in range(40):
        floor = Floor(a_spin())
        for player in ("ann", "ben", "cid"):
            floor.enter(player, seed=seed_of(f"{player}{number}") if player == "ann" else None)
        opens(floor, "ann", seed_of(f"ann{number}"))
        drawn, line = floor.told(e.Drawn)[0], floor.told(e.MultiplierDrawn)[0].line
        mixed = {0: drawn.entrants_digest, 1: seed_of(f"ann{number}")}
        weights = weights_of(floor.config.multipliers)
        assert line == draw(drawn.secret, LABEL, TOURNAMENT_ID, weights, seeds=mixed)
        lines.add(line)
    assert len(lines) > 1


def test_nobody_changes_the_list_while_seeds_are_open():
    """Else whoever has seen them could undo or choose what is drawn."""
    floor = waiting()
    opens(floor, "ann")

    for command in (
        c.Withdraw("ben", floor.now),
        c.Remove("ben", "op", "case 17", floor.now),
        c.Cancel("op", "no power", floor.now),
    ):
        assert floor.refuse(command) == "DRAW_PENDING"
    floor.tick(floor.told(e.SeedsAsked)[0].until_ms)
    assert floor.state.phase == "playing"
    assert floor.state.accepted == 3


def test_a_draw_that_is_an_hour_overdue_can_be_called_off_without_its_secret():
    floor = waiting()
    opens(floor, "ann")
    floor.now = floor.told(e.SeedsAsked)[0].until_ms + DRAW_OVERDUE_MS - 1
    assert floor.refuse(c.Cancel("op", "secret lost", floor.now)) == "DRAW_PENDING"
    floor.now += 1
    before, command = floor.state, c.Cancel("op", "secret lost", floor.now)
    assert floor.do(command) == decide(before, command, None)
    floor.obey()

    assert floor.state.phase == "finished"
    assert {payment.player for payment in floor.paid if payment.code == "refund"} == {"ann", "ben", "cid"}


@pytest.mark.parametrize("is_paid_late", [False, True])
def test_entries_that_count_while_seeds_are_open_are_late_ones(is_paid_late):
    """A name chosen after the seeds are known is in no draw but that of its own seat."""
    floor = Floor(scheduled(entries=LATE))
    for player in ("ann", "ben"):
        floor.enter(player, seed=seed_of(player))
    if is_paid_late:
        floor.do(floor.asks("cid", seed=seed_of("cid")))
    floor.now = LATE.starts_at_ms
    floor.do(c.Tick(floor.now))
    digest = floor.told(e.SeedsAsked)[0].entrants_digest
    opens(floor, "ann")
    if not is_paid_late:
        floor.do(floor.asks("cid", seed=seed_of("cid")))
    floor.obey()
    assert floor.refuse(c.OpenSeed("cid", seed_of("cid"), floor.now)) == "SEED_NOT_ASKED"
    opens(floor, "ben")
    floor.obey()

    assert floor.told(e.Drawn)[0].entrants_digest == digest
    assert [[given.player for given in each.seats] for each in floor.told(e.SeatsDrawn)][1] == ["cid"]
    assert [each.rule for each in floor.told(e.SeatsDrawn)] == ["TDA R7", "TDA R8"]
    assert floor.state.phase == "playing"
    assert floor.state.left == 3


def test_only_the_own_seed_is_taken_and_only_while_it_is_asked_for():
    floor = Floor(sit_and_go(3, size=3))
    floor.enter("ann", seed=seed_of("ann"))
    assert floor.refuse(c.OpenSeed("ann", seed_of("ann"), floor.now)) == "SEED_NOT_ASKED"
    floor.enter("ben")
    floor.enter("cid", seed=seed_of("cid"))

    assert floor.refuse(c.OpenSeed("ann", seed_of("cid"), floor.now)) == "SEED_DOES_NOT_MATCH"
    assert floor.refuse(c.OpenSeed("ann", b"short", floor.now)) == "SEED_INVALID"
    assert floor.refuse(c.OpenSeed("ben", seed_of("ben"), floor.now)) == "SEED_NOT_ASKED"
    assert floor.refuse(c.OpenSeed("nobody", seed_of("ann"), floor.now)) == "SEED_NOT_ASKED"
    assert len(opens(floor, "ann")) == 1
    assert opens(floor, "ann") == (), "told already"


def test_a_neighbours_commitment_cannot_be_opened_by_who_copies_it():
    """The player is in the commitment: a copied one stays shut."""
    floor = Floor(sit_and_go(2, size=2))
    floor.enter("ann", seed=seed_of("ann"))
    floor.do(c.Enter("eve", False, floor.now, floor.state.entries[1].seed_commitment))  # noqa: FBT003
    floor.obey()
    opens(floor, "ann")

    assert floor.refuse(c.OpenSeed("eve", seed_of("ann"), floor.now)) == "SEED_DOES_NOT_MATCH"


def test_who_gives_the_entry_back_is_not_waited_for():
    floor = Floor(scheduled(entries=START))
    floor.enter("ann", seed=seed_of("ann"))
    floor.enter("ben")
    floor.enter("cid")
    floor.do(c.Withdraw("ann", floor.now))
    floor.obey()
    floor.tick(START.starts_at_ms)

    assert floor.told(e.SeedsAsked) == []
    assert pay_of(floor, "refund/1") == 110
    assert floor.state.phase == "playing"


def test_a_tournament_may_take_no_seeds():
    floor = Floor(sit_and_go(2, size=2, entries=EntryTerms(seed_window_ms=0)))
    floor.enter("ann", seed=seed_of("ann"))
    floor.enter("ben")

    assert floor.told(e.SeedsAsked) == []
    assert floor.state.phase == "playing"


def test_a_commitment_has_the_size_of_a_hash():
    floor = Floor(sit_and_go(2, size=2))

    assert floor.refuse(c.Enter("ann", False, floor.now, b"short")) == "SEED_INVALID"  # noqa: FBT003
