"""Every poker game at a live table: played by clients to its end, then proved from the log (OM, NK, SB; P1, L10, S1)."""

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.core.hand.events import (
    AnchorAnswered,
    AnchorDeclared,
    CardGlanced,
    CardSwapped,
    HandEnded,
    HandStarted,
    HoleCardsDealt,
)
from tests.integration.table.gamers import play, verified

NAIKO = {"game": "naiko", "small_blind": 5, "big_blind": 10}
OMAHA = {"game": "omaha", "small_blind": 5, "big_blind": 10}


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


async def test_omaha_is_played_by_clients_with_four_cards_each_and_every_hand_is_proved(house):
    """OM-1 to OM-5."""
    table_id, gamers = await play(house, ("ann", "ben", "cid"), 8, **OMAHA)
    events = await verified(house, table_id)
    assert len(of(HandEnded, events)) >= 8
    started = of(HandStarted, events)[0]
    assert (started.settings.game, started.settings.limit) == ("omaha", "pot_limit")
    assert all(len(holding) == 4 for dealt in of(HoleCardsDealt, events) for holding in dealt.holdings)
    for gamer in gamers:
        assert {len(private.reveals) for private in gamer.private.values()} == {4}
        assert gamer.seat.proofs.reveals_checked >= 4 * len(gamer.private)


async def test_an_omaha_hand_is_opened_with_four_cards_a_seat(house):
    """S5."""
    _, gamers = await play(house, ("ann", "ben"), 1, pause_ms=600_000, **OMAHA)
    hand_id = next(iter(gamers[0].private))
    request = pb.OpenHandRequest(hand_id=hand_id, reason="dispute")
    opened = await house.call("OpenHand", request, "auditor", Role.AUDITOR)
    assert [len(seat.reveals) for seat in opened.seats] == [4, 4]
    own = await house.call("OpenHand", pb.OpenHandRequest(hand_id=hand_id), "ann")
    assert [reveal.card for reveal in own.seats[0].reveals] == [
        reveal.card for reveal in gamers[0].private[hand_id].reveals
    ]


async def test_a_pot_limit_table_offers_at_most_the_pot(house):
    """OM-3, B3: the highest total is that of a pot-sized raise."""
    table_id = await house.create(**OMAHA)
    for player in ("ann", "ben"):
        await house.sit(table_id, player, amount=1000)
    view = await house.until(table_id, lambda view: view.hand.HasField("decision"))
    decision = view.hand.decision
    assert (decision.min_to, decision.max_to, decision.pot_to) == (20, 30, 30)


async def test_naiko_is_played_by_clients_with_powers_and_every_hand_is_proved(house):
    """NK-1 to NK-42: powers are used from what the view offers, windows are answered, the log is decided again."""
    table_id, gamers = await play(house, ("ann", "ben", "cid"), 20, **NAIKO)
    events = await verified(house, table_id)
    used = {kind: len(of(kind, events)) for kind in (CardGlanced, CardSwapped, AnchorDeclared, AnchorAnswered)}
    assert all(used.values()), used
    answers = {event.answer for event in of(AnchorAnswered, events)}
    assert answers == {"seal_shield", "pass"}
    said = [power for gamer in gamers for power in gamer.used]
    assert len(said) >= sum(used.values())
    looks = [private for gamer in gamers for private in gamer.private.values() if private.HasField("glanced")]
    swaps = [private for gamer in gamers for private in gamer.private.values() if private.HasField("discarded")]
    assert looks
    assert swaps
    assert all(private.discarded.position not in [one.position for one in private.reveals] for private in swaps)
