"""The deck of a hand that another process began: held against the log before a card of it is shown (F1, S5, H9)."""

import asyncio
import time
from uuid import UUID

import pytest
from msgspec.structs import replace

from diwan.chassis.clock import DatabaseClock
from diwan.chassis.keyfile import VaultError
from diwan.chassis.store import Claim
from diwan.core.fairness import Secret, deal, secret_commitment, verify_reveal
from diwan.core.hand.events import HandVoided
from diwan.core.hand.state import EndedHand
from diwan.wire.events import decode
from services.table import cards as cards_module
from services.table.actor import Actor
from services.table.cards import DeckLost, HandCards
from services.table.ids import hand_id_of
from services.table.loaded import Loaded
from services.table.stream import TableStream
from services.table.watchers import Watcher
from tests.unit.table.play import TABLE_ID, Table
from tests.unit.tableservice.test_actor import Nobody, Store

SECRET = Secret(bytes(range(32)))
OTHER = Secret(bytes(32))


class Vault:
    """Has one secret, or says why it has none."""

    def __init__(self, secret=SECRET, why=None):
        self.secret, self.why = secret, why

    async def get(self, _hand_id):
        if self.why is not None:
            raise VaultError(self.why, "not here")
        return self.secret


class Ended(Nobody):
    """Says when the hand is over."""

    def __init__(self):
        self.ended = asyncio.Event()

    def happened(self, actor, *_):
        if not actor.state.is_running:
            self.ended.set()


def running_table():
    """Return a table in the first betting round of its first hand."""
    table = Table(decision_seconds=60)
    for player in ("ann", "ben", "cho"):
        table.seat(player)
    table.start()
    return table


def started_of(table, *, root=None):
    """Return the hand's first event as a log has it whose deck is dealt from the secret."""
    started = table.state.hand.deal.started
    root = root or deal(started.hand_id, SECRET, {}).root
    return replace(started, secret_commitment=secret_commitment(started.hand_id, SECRET), deck_root=root)


@pytest.fixture
def dealt(monkeypatch):
    """Return the decks that were made."""
    made = []

    def counted(*arguments):
        made.append(deal(*arguments))
        return made[-1]

    monkeypatch.setattr(cards_module, "deal", counted)
    return made


async def test_a_deck_is_made_when_its_first_card_is_needed_and_once(dealt):
    """F3: it is the deck that the log's root commits to, and proves its cards."""
    started = started_of(running_table())
    cards = HandCards(UUID(TABLE_ID), Vault())
    await cards.restore(started)
    handed = cards.by_position
    assert cards.may_go_on
    assert dealt == []
    assert [handed[position] for position in range(52)] == list(dealt[0].cards)
    assert verify_reveal(started.hand_id, started.deck_root, cards.reveal(7))
    assert cards.has_deck
    assert len(cards.by_position) == 52
    assert len(dealt) == 1


@pytest.mark.parametrize("vault", [Vault(OTHER), Vault(why="NO_SECRET"), Vault(why="DAY_DESTROYED")])
async def test_a_secret_that_is_gone_or_another_is_found_out_at_once(vault, dealt):
    """F1, H9: the hand is voided when its table is taken over, not when a card is due."""
    cards = HandCards(UUID(TABLE_ID), vault)
    cards.remember_shown({3: 17})
    with pytest.raises(DeckLost):
        await cards.restore(started_of(running_table()))
    assert not cards.may_go_on
    assert not cards.has_deck
    assert cards.by_position == {3: 17}
    assert dealt == []


async def test_a_wrong_key_file_costs_no_hand():
    """The table is held back until the key file is right."""
    cards = HandCards(UUID(TABLE_ID), Vault(why="NO_WRAPPING_KEY"))
    with pytest.raises(VaultError):
        await cards.restore(started_of(running_table()))


@pytest.mark.parametrize("need", ["reveal", "look", "ask", "count"])
async def test_no_card_of_a_deck_with_another_root_is_ever_shown(need):
    """S5, F3: whatever is asked first, there is only what the log has shown already."""
    told = []
    cards = HandCards(UUID(TABLE_ID), Vault())
    cards.on_lost = lambda: told.append("lost")
    cards.remember_shown({3: 17})
    await cards.restore(started_of(running_table(), root=bytes(32)))
    handed = cards.by_position
    if need == "reveal":
        with pytest.raises(DeckLost):
            cards.reveal(3)
    elif need == "look":
        with pytest.raises(LookupError):
            handed[4]
        assert handed[3] == 17
    elif need == "ask":
        assert not cards.has_deck
    else:
        assert dict(handed) == {3: 17}
    assert told == ["lost"]
    assert not cards.may_go_on
    assert cards.by_position == {3: 17}
    with pytest.raises(DeckLost):
        cards.reveal(4)


async def test_what_is_handed_out_before_a_deck_is_made_prints_no_card():
    """S6."""
    cards = HandCards(UUID(TABLE_ID), Vault())
    await cards.restore(started_of(running_table()))
    assert repr(cards.by_position) == "cards withheld"


class Keeping(Vault):
    """Keeps secrets; ``troubles`` are raised first."""

    def __init__(self):
        super().__init__(why="NO_SECRET")
        self.kept, self.troubles = {}, []

    async def put(self, hand_id, commitment, secret, *, epoch):
        if self.troubles:
            raise self.troubles.pop(0)
        assert secret_commitment(hand_id, secret) == commitment
        if hand_id in self.kept:
            raise VaultError("HAND_HAS_SECRET", "another is here")
        self.kept[hand_id] = (secret, epoch)

    async def get(self, hand_id):
        return self.kept[hand_id][0]


def commitment_in(vault, hand_no):
    hand_id = hand_id_of(UUID(TABLE_ID), hand_no)
    return secret_commitment(hand_id, vault.kept[hand_id][0])


async def test_a_secret_kept_ahead_is_in_the_vault_before_its_hand_needs_it():
    """F1: what is committed to is what the vault has, and nothing is put there a second time."""
    vault = Keeping()
    cards = HandCards(UUID(TABLE_ID), vault)
    cards.keep_ahead(3, 1)
    await asyncio.sleep(0)
    assert list(vault.kept) == [hand_id_of(UUID(TABLE_ID), 3)]
    vault.troubles = [AssertionError("nobody need put anything now")]
    assert await cards.commit(3, 1) == commitment_in(vault, 3)
    assert (await cards.prepare(3, commitment_in(vault, 3), {})).root


async def test_a_secret_that_could_not_be_kept_ahead_is_kept_when_its_hand_needs_it():
    vault = Keeping()
    vault.troubles = [OSError("away")]
    cards = HandCards(UUID(TABLE_ID), vault)
    cards.keep_ahead(3, 1)
    await asyncio.sleep(0)
    assert vault.kept == {}
    assert await cards.commit(3, 1) == commitment_in(vault, 3)


async def test_a_secret_kept_ahead_serves_no_other_hand():
    """F6."""
    vault = Keeping()
    cards = HandCards(UUID(TABLE_ID), vault)
    cards.keep_ahead(3, 1)
    await asyncio.sleep(0)
    assert await cards.commit(2, 1) == commitment_in(vault, 2)
    assert await cards.commit(3, 1) == commitment_in(vault, 3), "as the vault has it"
    assert len({secret for secret, _ in vault.kept.values()}) == 2


async def test_a_new_owner_goes_on_with_the_secret_that_the_former_one_kept_ahead():
    """F1, H9: of two owners' secrets one stands, whoever asks."""
    vault = Keeping()
    HandCards(UUID(TABLE_ID), vault).keep_ahead(3, 1)
    await asyncio.sleep(0)
    successor = HandCards(UUID(TABLE_ID), vault)
    successor.keep_ahead(3, 2)
    assert await successor.commit(3, 2) == commitment_in(vault, 3)
    assert [epoch for _, epoch in vault.kept.values()] == [1]


@pytest.mark.parametrize(("why", "found"), [("DAY_DESTROYED", DeckLost), ("WRAPPED_SECRET_DAMAGED", VaultError)])
async def test_a_secret_kept_ahead_and_destroyed_before_its_hand_is_lost_and_one_out_of_reach_is_not(why, found):
    """H9: a table closes with all chips back where no hand can ever begin; it waits for what may come back."""
    vault = Keeping()
    HandCards(UUID(TABLE_ID), vault).keep_ahead(3, 1)
    await asyncio.sleep(0)

    async def get(_hand_id):
        raise VaultError(why, "not here")

    vault.get = get
    with pytest.raises(found):
        await HandCards(UUID(TABLE_ID), vault).commit(3, 2)


async def test_a_hand_whose_deck_turns_out_to_be_another_is_voided_when_a_card_is_needed():
    """H9, S5: chips go back, and the player who came for hole cards has seen none."""
    table, store, listener = running_table(), Store(), Ended()
    cards = HandCards(UUID(TABLE_ID), Vault())
    await cards.restore(started_of(table, root=bytes(32)))
    stacks = [seat.stack for seat in table.state.seats]
    claim = Claim(UUID(TABLE_ID), 1, table.state.version, bytes(32), table.now, int(time.time() * 1000))
    loaded = Loaded(
        TableStream(store, claim), table.state, [], DatabaseClock(claim.database_now_ms), claim.database_now_ms, [], []
    )
    actor = Actor(loaded, store, cards, {}, listener, None)
    actor.start()
    await asyncio.sleep(0)
    assert actor.state.is_running, "nothing is known to be wrong yet"
    watcher = Watcher(actor.hub.snapshot, player="ann", is_seat=True)
    actor.hub.attach(watcher, 0)
    async with asyncio.timeout(5):
        await listener.ended.wait()
    await actor.stop()
    last = store.appends[-1].events
    voided = next(
        e for each in last if isinstance(e := decode(each.type_id, each.schema_v, each.body).event, HandVoided)
    )
    assert voided.reason == "interrupted"
    assert isinstance(actor.state.hand, EndedHand)
    assert [seat.stack for seat in actor.state.seats] == stacks
