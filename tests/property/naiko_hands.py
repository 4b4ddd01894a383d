"""Random hands of Naiko: any carousel, destellos and settings; powers at every chance, answered or not."""

from msgspec.structs import replace

from diwan.core.games.naiko.carousel import CAROUSELS
from diwan.core.games.naiko.rules import targets
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.commands import AnswerAnchor, ExpireClock, UsePower
from diwan.core.hand.events import NaikoDeal
from diwan.core.hand.settings import NaikoSettings, PowerCosts
from diwan.core.hand.state import EndedHand
from diwan.core.table.config import TableConfig
from diwan.core.table.state import SeatState, TableState
from tests.property.random_hands import NOW, Played, game_of, random_command, random_start


def random_settings(chance):
    """The defaults mostly; else small numbers, so that every one of them matters."""
    if chance.random() < 0.6:
        return NaikoSettings()
    most = chance.randint(0, 5)
    return NaikoSettings(
        max_destellos=most,
        gain_per_deal=chance.randint(0, most),
        costs=PowerCosts(
            hidden_glance=chance.randint(0, 2),
            sleeve_trick=chance.randint(0, 3),
            short_anchor=chance.randint(0, 3),
            seal_shield=chance.randint(0, 2),
        ),
        activations_per_round=chance.randint(0, 5),
        response_seconds=chance.randint(1, 30),
    )


def random_naiko_start(chance, **choices):
    """A StartHand as tables make them; stacks often around the blinds, where rules are delicate."""
    settings = random_settings(chance)
    command = random_start(chance, **choices)
    carousel = list(chance.choice(CAROUSELS))
    chance.shuffle(carousel)
    most = settings.max_destellos
    return replace(
        command,
        settings=replace(command.settings, game="naiko", naiko=settings),
        naiko=NaikoDeal(tuple(carousel), tuple(chance.choice([most, chance.randint(0, most)]) for _ in command.seats)),
    )


def naiko_command(chance, state, version):
    """A legal command; powers at every other chance."""
    if state.window is not None:
        return _answer(chance, state, version)
    powers = legal_actions(game_of(state), state).powers
    if not powers or chance.random() < 0.5:
        return random_command(chance, state, version)
    power = chance.choice(powers)
    target = chance.choice(list(targets(state))) if power == "short_anchor" else None
    discard = chance.choice(state.holdings[state.actor]) if power == "sleeve_trick" else None
    turn = chance.choice([None, state.turn])
    seat = state.deal.seats[state.actor]
    return UsePower(seat, power, target, discard, turn, version, chance.randint(NOW, state.deadline_ms))


def _answer(chance, state, version):
    window = state.window
    seat = state.deal.seats[window.target]
    turn = chance.choice([None, window.turn])
    if chance.random() < 0.3:
        decided_by = chance.choice(["clock", "clock", "system", "operator"])
        late = chance.randrange(5) if decided_by == "clock" else -chance.randrange(500)
        return ExpireClock(seat, turn, version, window.deadline_ms + late, decided_by)
    answer = chance.choice(["seal_shield", "pass"])
    return AnswerAnchor(seat, answer, turn, version, chance.randint(NOW, window.deadline_ms))


def played_naiko(seed, **choices):
    return Played(seed, start=random_naiko_start, choose=naiko_command, **choices)


def table_of(state):
    """A table whose running or last hand this is, as far as views look at it."""
    live = state.last if isinstance(state, EndedHand) else state
    started = live.deal.started
    return TableState(
        table_id="t",
        config=TableConfig(name="naiko", hand=started.settings),
        version=1,
        seats=tuple(
            SeatState(one.seat, one.player, is_bot=False, sitting="", post_at_once=False, stack=one.stack)
            for one in started.seats
        ),
        hand=state,
        is_running=not isinstance(state, EndedHand),
        hand_no=started.hand_no,
        hand_id=started.hand_id,
        dealt=live.deal.seats,
    )
