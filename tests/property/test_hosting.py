"""Random private tables: nobody uninvited ever sits or sees, and every act is decided again from the log (TB-3, DESIGN 3)."""

import contextlib
import random  # noqa: TID251  (tests may use chance)

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from diwan.core.decider import Rejected
from diwan.core.hand.events import HandEnded, HandStarted
from diwan.core.table.commands import CloseTable, FundSeat
from diwan.core.table.decide import decide
from diwan.core.table.events import BuyInRefused, BuyInRequested, SeatReleased, TableCreated
from diwan.core.table.evolve import evolve
from diwan.core.table.hosting.commands import (
    AnswerInvitation,
    ChangeSettings,
    HandOver,
    Invite,
    IssueJoinCode,
    JoinByCode,
    RemoveGuest,
    RevokeInvitation,
    RevokeJoinCode,
    SetPaused,
)
from diwan.core.table.hosting.entry import may_see
from diwan.core.table.hosting.events import (
    GuestJoined,
    GuestRemoved,
    HostChanged,
    InvitationAnswered,
    InvitationRevoked,
    InvitationSent,
    SettingsChanged,
    TablePaused,
    TableResumed,
)
from diwan.core.table.inverse import command_of
from tests.unit.table.play import Table, asking, transfer_of

PEOPLE = ("hal", "ann", "ben", "cid", "dan")
CODES = (b"a" * 32, b"b" * 32)


class Story:
    """A private table at which everybody tries everything; what is refused leaves no trace."""

    def __init__(self, seed, steps):
        self.chance = random.Random(seed)
        self.table = Table(is_private=True, host="hal", seats=self.chance.choice((2, 4, 6)), bots_fill=2)
        for _ in range(steps):
            self.table.now += self.chance.choice((0, 1000, 400_000))
            with contextlib.suppress(Rejected):
                self.step()

    def step(self):
        table, chance, now = self.table, self.chance, self.table.now
        who, other = chance.choice(PEOPLE), chance.choice(PEOPLE)
        by, op = (other, False) if chance.random() < 0.8 else ("op", True)
        if chance.random() < 0.5:
            by = table.state.hosting.host
        until = now + chance.choice((1000, 3_600_000))
        commands = (
            lambda: Invite(who, by, op, until, now),
            lambda: AnswerInvitation(who, chance.random() < 0.7, now),
            lambda: AnswerInvitation(who, chance.random() < 0.7, now),
            lambda: RevokeInvitation(who, by, op, now),
            lambda: IssueJoinCode(chance.choice(CODES), by, op, until, now),
            lambda: RevokeJoinCode(by, op, now),
            lambda: JoinByCode(who, chance.choice(CODES), now),
            lambda: RemoveGuest(who, by, op, now),
            lambda: HandOver(who, by, op, now),
            lambda: SetPaused(chance.random() < 0.3, by, op, now),
            lambda: ChangeSettings(self.other_settings(), by, op, now),
        )
        roll = chance.random()
        if roll < 0.5:
            table.when(chance.choice(commands)())
        elif roll < 0.7:
            self.sit(who)
        elif roll < 0.75:
            table.stand_up(who)
        elif roll < 0.76:
            table.when(CloseTable("hal", now))
        elif table.state.is_running:
            table.act(chance.choice(("fold", "check", "call")))
        else:
            table.start()

    def sit(self, who):
        is_bot = self.chance.random() < 0.2
        player = f"bot.{self.chance.randrange(3)}" if is_bot else who
        transfer = transfer_of(f"{player}/{len(self.table.batches)}")
        self.table.when(asking(player, transfer, self.table.now, amount=200, is_bot=is_bot))
        self.table.when(FundSeat(transfer, self.table.now))

    def other_settings(self):
        before = self.table.state.config
        big = self.chance.choice((2, 4, 10))
        hand = replace(before.hand, small_blind=big // 2, big_blind=big)
        return replace(before, hand=hand, seats=self.chance.choice((2, 4, 6)), bots_fill=self.chance.choice((0, 2)))


class Door:
    """Who may come in, kept from the events alone and in another way than the table keeps it."""

    def __init__(self):
        self.host = ""
        self.until = {}  # by player: until when an invitation counts; None for ever
        self.seated = set()

    def take(self, event):
        match event:
            case TableCreated(host=host):
                self.host = host
            case InvitationSent(player=player, expires_at_ms=until):
                self.until[player] = until
            case InvitationAnswered(player=player, is_accepted=True) | GuestJoined(player=player):
                self.until[player] = None
            case InvitationAnswered(player=player) | InvitationRevoked(player=player) | GuestRemoved(player=player):
                self.until.pop(player, None)
            case HostChanged(host=host):
                self.until[self.host], self.host = None, host
            case BuyInRequested(player=player):
                self.seated.add(player)
            case SeatReleased(player=player):
                self.seated.discard(player)
            case _:
                assert not isinstance(event, BuyInRefused), "no story has one"

    def is_open_to(self, player, now):
        until = self.until.get(player, 0)
        return player == self.host or player in self.seated or until is None or until > now


stories = st.builds(Story, st.integers(0, 2**32), st.integers(20, 150))


@settings(max_examples=80, deadline=None)
@given(stories)
def test_nobody_uninvited_ever_sits_or_sees(story):
    """TB-3."""
    state, door = None, Door()
    for batch in story.table.batches:
        first = batch[0]
        if isinstance(first, BuyInRequested) and not first.is_bot:
            assert door.is_open_to(first.player, first.requested_at_ms)
        for event in batch:
            state = evolve(state, event)
            door.take(event)
        for at_ms in (0, story.table.now, story.table.now * 2):
            for player in (*PEOPLE, "stranger"):
                assert may_see(state, player, at_ms) == door.is_open_to(player, at_ms)


@settings(max_examples=80, deadline=None)
@given(stories)
def test_a_hand_keeps_the_settings_that_it_began_with_and_none_begins_in_a_pause(story):
    """D2: what a hand is played by stands in its first event; a change counts for the next one."""
    newest, is_paused, is_running = None, False, False
    for batch in story.table.batches:
        for event in batch:
            match event:
                case TableCreated(config=config) | SettingsChanged(config=config):
                    newest = config
                case TablePaused():
                    is_paused = True
                case TableResumed():
                    is_paused = False
                case HandStarted(settings=played):
                    assert not is_paused
                    assert played == newest.hand
                    is_running = True
                case HandEnded():
                    is_running = False
                case _:
                    pass
    if not is_running:
        assert story.table.state.config == newest


@settings(max_examples=80, deadline=None)
@given(stories)
def test_every_act_decided_again_gives_exactly_its_batch(story):
    state = None
    for batch in story.table.batches:
        command = command_of(batch[0], state)
        assert command is not None
        assert decide(state, command, story.table.cards) == batch
        for event in batch:
            state = evolve(state, event)


def test_the_stories_tell_of_everything():
    """A property over tables at which nothing happens would prove nothing."""
    seen = {}
    for seed in range(60):
        for batch in Story(seed, 120).table.batches:
            for event in batch:
                seen[type(event).__name__] = seen.get(type(event).__name__, 0) + 1
    wanted = {
        "InvitationSent", "InvitationAnswered", "InvitationRevoked", "JoinCodeIssued", "JoinCodeRevoked", "GuestJoined",
        "GuestRemoved", "HostChanged", "TablePaused", "TableResumed", "SettingsChanged", "HandEnded", "SeatReleased",
    }  # fmt: skip
    assert wanted <= {name for name, count in seen.items() if count > 3}, seen
