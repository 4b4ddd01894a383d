"""A table with its hub and its log: what happens is decided, stored and published as an actor does it."""

import contextlib
from uuid import UUID, uuid5

from diwan.api.table.v1.view_pb2 import TableView
from diwan.chassis.store import StoredEvent
from diwan.core.decider import Rejected
from diwan.core.games.capsa.arrangement import server_arrangement
from diwan.core.games.capsa.commands import AnswerCall, LockSet, SaveDraft
from diwan.core.games.capsa.events import Arrangement
from diwan.core.games.capsa.settings import CapsaSettings
from diwan.core.games.capsa.state import LiveCapsa
from diwan.core.games.naiko.rules import targets
from diwan.core.hand.betting import legal_actions
from diwan.core.hand.settings import HandSettings, NaikoSettings, SarabSettings
from diwan.core.redact import shown_to
from diwan.core.table.commands import CommitSecret, FundSeat
from diwan.core.table.playing import expiry, open_clock
from diwan.wire.events import encode
from services.table.hub import Hub
from tests.property.random_hands import NOW, game_of
from tests.property.test_secrecy import Deck
from tests.unit.table.play import TABLE_ID, Table, asking, transfer_of

SARAB = SarabSettings(forced_bets=(2,), no_fold_at_or_below=0)
GAMES = {
    "holdem": {"hand": HandSettings()},
    "omaha": {"hand": HandSettings(game="omaha", limit="pot_limit")},
    "naiko": {"hand": HandSettings(game="naiko", naiko=NaikoSettings(gain_per_deal=3))},
    "sarab": {"hand": HandSettings(game="sarab", small_blind=0, sarab=SARAB)},
    "capsa": {"capsa": CapsaSettings(unit=1, players=3, naturals=()), "buy_in_max": 10_000},
}


class HubHouse:
    """Everything that was published is kept: the log, and the public view at each version."""

    def __init__(self, chance, game, **config):
        self.chance = chance
        settings = {"seats": 6} | GAMES[game] | config
        if game == "capsa":
            del settings["seats"]
        cards = dict(enumerate(chance.sample(range(52), 52)))
        self.table = Table(cards=cards, sit_out_after=0, return_minutes=0, **settings)
        self.table.secret = chance.randbytes(32)
        self.log, self.views = [], {}
        self.hub = self.new_hub()
        self.hub.reset(self.table.state, [])
        self.stored(self.table.batches[0], 1)
        self.views[1] = TableView.FromString(self.hub.view_bytes())

    def new_hub(self):
        return Hub(Deck(self.table.cards), {}, lambda state: str(uuid5(UUID(TABLE_ID), f"hand/{state.hand_no + 1}")))

    def stored(self, events, first):
        command, made = UUID(int=first), []
        for version, event in enumerate(events, first):
            body = encode(event, nonce=bytes(16), reveal=self.hub._cards.reveal)
            made.append(
                StoredEvent(
                    UUID(TABLE_ID), version, command, command, 1, body.type_id, body.schema_v, NOW, body.body, b"", b""
                )
            )
        self.log += made
        return made

    def publish(self, events):
        state = self.table.state
        made = self.stored(events, state.version - len(events) + 1)
        self.hub.publish(state, made, shown_to=shown_to(state, events[0]))
        self.views[state.version] = TableView.FromString(self.hub.view_bytes())
        self.look()

    def look(self):
        """For a test to look at everybody, after every batch."""

    def do(self, ask):
        """Do something at the table and tell of it; what is refused leaves nothing to tell."""
        before = len(self.table.batches)
        with contextlib.suppress(Rejected):
            ask()
        for batch in self.table.batches[before:]:
            self.publish(batch)

    def sit(self, player, amount=100):
        """Take a seat and get the chips, each told by itself."""
        transfer = transfer_of(f"{player}/{len(self.table.batches)}")
        self.do(lambda: self.table.when(asking(player, transfer, self.table.now, amount=amount, post=True)))
        self.do(lambda: self.table.when(FundSeat(transfer, self.table.now)))

    def start(self):
        if self.table.state.exchange is None:
            self.do(lambda: self.table.when(CommitSecret(bytes(32), self.table.now)))
        self.do(self.table.start)

    def expire(self):
        """Let the clock that runs end."""
        clock = open_clock(self.table.state.hand)
        self.table.now = max(self.table.now, clock.deadline_ms)
        self.do(lambda: self.table.when(expiry(self.table.state.hand, self.table.state.version, self.table.now)))

    def play(self):
        """Decide something at random; now and then the clock does."""
        self.table.now += self.chance.randrange(3000)
        if self.chance.random() < 0.15:
            self.expire()
        elif isinstance(self.table.state.hand, LiveCapsa):
            self.arrange()
        else:
            self.bet()

    def arrange(self):
        live, chance, state = self.table.state.hand, self.chance, self.table.state
        turn, version, now = live.turn, state.version, self.table.now
        if live.phase != "setting":
            seat = live.deal.seats[live.asked]
            self.do(lambda: self.table.when(AnswerCall(seat, chance.choice(("play", "surrender")), turn, version, now)))
            return
        place = chance.randrange(len(live.deal.seats))
        cards = self.table.cards
        position_of = {cards[position]: position for position in live.holdings[place]}
        rows = server_arrangement(sorted(position_of), "low")
        rows = Arrangement(*(tuple(position_of[card] for card in row) for row in rows))
        kind = SaveDraft if chance.random() < 0.3 else LockSet
        self.do(lambda: self.table.when(kind(live.deal.seats[place], rows, turn, version, now)))

    def bet(self):
        table, chance, live = self.table, self.chance, self.table.live
        if live.window is not None:
            self.do(lambda: table.answer(chance.choice(("pass", "seal_shield"))))
            return
        legal = legal_actions(game_of(live), live)
        if legal.powers and chance.random() < 0.6:
            power = chance.choice((*legal.powers, legal.powers[-1]))
            others = list(targets(live))
            held = chance.choice(live.holdings[live.actor]) if power == "sleeve_trick" else None
            target = chance.choice(others) if power == "short_anchor" and others else None
            self.do(lambda: table.use(power, target=target, discard=held))
            return
        kinds = [kind for kind, can in (("check", legal.check), ("call", legal.call)) if can] * 6
        if legal.lift is not None and chance.random() < 0.3:
            kind = "bet" if legal.bet is not None else "raise"
            self.do(lambda: table.act(kind, legal.lift[0]))
            return
        kinds += ["fold"] if legal.fold else []
        self.do(lambda: table.act(chance.choice(kinds)))
