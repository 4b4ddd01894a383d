"""Every poker game at a live table: played by clients to its end, then proved from the log (OM, NK, SB; P1, L10, S1)."""

from uuid import uuid4

from diwan.api.event.v1 import hand_pb2
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
from tests.integration.table.gamers import CHIPS, Gamer, play, verified
from tests.integration.table.house import has_decision, player_of

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
    rich = hand_pb2.NaikoSettings(gain_per_deal=3)  # so that chance leaves no kind of power unused
    table_id, gamers = await play(house, ("ann", "ben", "cid"), 20, naiko=rich, **NAIKO)
    events = await verified(house, table_id)
    used = {kind: len(of(kind, events)) for kind in (CardGlanced, CardSwapped, AnchorDeclared, AnchorAnswered)}
    assert all(used.values()), used
    said = [power for gamer in gamers for power in gamer.used]
    assert len(said) >= sum(used.values())
    looks = [private for gamer in gamers for private in gamer.private.values() if private.HasField("glanced")]
    swaps = [private for gamer in gamers for private in gamer.private.values() if private.HasField("discarded")]
    assert looks
    assert swaps
    assert all(private.discarded.position not in [one.position for one in private.reveals] for private in swaps)


async def test_sarab_is_played_by_clients_with_forced_bets_and_void_hands_and_every_hand_is_proved(house):
    """SB-1 to SB-40: no blinds, the first dealer drawn, void hands carried over, the forced bet by the schedule."""
    sarab = hand_pb2.SarabSettings(forced_bets=(10, 20, 40), deals_per_level=4, void_antes="carry")
    table_id, gamers = await play(house, ("ann", "ben", "cid"), 12, Checker, game="sarab", sarab=sarab)
    events = await verified(house, table_id)
    started, ended = of(HandStarted, events), of(HandEnded, events)
    assert [each.settings.big_blind for each in started[:12]] == [10] * 4 + [20] * 4 + [40] * 4
    assert {each.big_blind_seat for each in started} == {None}
    voids = [number for number, each in enumerate(ended) if each.result == "void"]
    assert voids
    assert all(started[number + 1].button == started[number].button for number in voids if number + 1 < len(started))
    assert any(each.carried for each in started)
    assert {len(private.reveals) for gamer in gamers for private in gamer.private.values()} == {2}
    view = await house.view(table_id)
    carried = view.hand.sarab.carried_on if view.hand.street == hand_pb2.STREET_OVER else view.hand.pot
    assert sum(seat.stack for seat in view.seats) + carried == 3 * CHIPS


class Checker(Gamer):
    """Mostly checks, so that hands are void."""

    def _choice(self, decision):
        if decision.can_check and self.chance.random() < 0.95:
            return "check", 0
        return super()._choice(decision)


async def test_a_sarab_table_says_whom_it_lets_fold_and_what_saves_the_hand(house):
    """SB-26, SB-23: fifty chips behind and no fold is offered; nobody has bet yet."""
    table_id = await house.create(game="sarab", big_blind=10, buy_in_min=10)
    for player, amount in (("ann", 60), ("ben", 1000)):
        await house.sit(table_id, player, amount=amount)
    view = await house.until(table_id, has_decision)
    assert view.hand.sarab.is_void_unless_bet
    assert list(view.hand.sarab.cannot_fold) == [0]
    assert view.hand.sarab.deals_to_next_step == 0
    if player_of(view, view.hand.decision.seat) == "ben":
        await house.act(table_id, "ben", view.hand.decision.turn, "check")
        view = await house.until(table_id, lambda view: view.hand.decision.seat == 0)
    assert not view.hand.decision.can_fold
    assert view.hand.decision.can_sarab
    action = pb.Action(turn=view.hand.decision.turn, kind=hand_pb2.ACTION_KIND_FOLD)
    request = pb.ActRequest(request_id=str(uuid4()), table_id=table_id, action=action)
    assert (await house.refused("Act", request, "ann"))[0] == "FOLD_NOT_ALLOWED"
