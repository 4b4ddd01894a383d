"""Pseudonyms: the same under one key, nobody's without it, and no name left over in any format."""

from __future__ import annotations

import hmac
import re
from collections import Counter
from hashlib import sha256
from types import SimpleNamespace

import pytest

from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.access import Role
from diwan.cli.histories import command as export_hands
from diwan.cli.histories.pseudonym_key import PseudonymKeyError, make_key, read_key
from diwan.cli.histories.reading import OWN, Eyes, read_hand
from diwan.cli.replay import AUDITOR, PUBLIC
from diwan.core.cards import format_card
from diwan.core.fairness import deal
from diwan.core.games.capsa.events import CapsaStarted
from diwan.core.hand.events import BoardDealt, CardsShown, HandStarted, HoleCardsDealt
from diwan.core.hashing import prefixed
from diwan.history.exports.pseudonyms import PLAIN, Pseudonyms
from diwan.history.exports.record import About
from diwan.wire.mapping import write_reveals
from diwan.wire.stored import public_event, stored_message
from tests.unit.verifier.capsa_logs import played_capsa
from tests.unit.verifier.logs import played

KEY = bytes(range(32))
ONE, OTHER = Pseudonyms(KEY), Pseudonyms(bytes(32))
EVERYBODY = Eyes()
TEXTS = ("phh", "ohh", "pokerstars", "jsonl")


def test_the_same_name_is_the_same_under_one_key_and_another_under_another():
    for kind in ("player", "table", "table_name", "hand", "tournament"):
        made = {getattr(names, kind)(text) for names in (ONE, Pseudonyms(KEY), OTHER) for text in ("amal", "dina")}
        assert len(made) == 4, kind
        assert getattr(ONE, kind)("") == ""
    assert len({getattr(ONE, kind)("amal") for kind in ("table", "hand", "tournament")}) == 3


def test_a_bot_is_still_told_from_a_person():
    assert ONE.player("bot:rami").startswith("bot:")
    assert not ONE.player("amal").startswith("bot:")
    assert ONE.player("bot:rami").removeprefix("bot:") != ONE.player("rami")


def test_a_pseudonym_is_a_keyed_hash_and_nothing_shorter_than_said():
    """Made once more by hand: no table of names can be tried without the key."""
    made = hmac.new(KEY, prefixed("pseudonym/v1", "player", "amal"), sha256).digest()
    import base64

    assert ONE.player("amal") == base64.b32encode(made[:10]).decode().lower()
    assert len(ONE.player("amal")) == 16
    assert len({ONE.player(f"player-{number}") for number in range(20_000)}) == 20_000


def test_ids_stay_ids():
    from uuid import UUID

    made = UUID(ONE.hand("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"))
    assert (made.version, made.variant) == (8, "specified in RFC 4122")


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_has_32_bytes(key):
    with pytest.raises(ValueError, match="32 bytes"):
        Pseudonyms(key)


def test_a_key_file_is_made_once_and_for_its_owner_alone(tmp_path):
    path = tmp_path / "names.key"
    make_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path).player("amal") == read_key(path).player("amal")
    with pytest.raises(PseudonymKeyError, match="already"):
        make_key(path)
    path.chmod(0o644)
    with pytest.raises(PseudonymKeyError, match="0600"):
        read_key(path)


@pytest.mark.parametrize(
    "text", ["", "diwan pseudonym key v1\n", "diwan pseudonym key v1\n" + "zz" * 32 + "\n", "x" * 500]
)
def test_a_file_that_is_no_key_is_refused(tmp_path, text):
    path = tmp_path / "names.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(PseudonymKeyError, match="no key"):
        read_key(path)
    with pytest.raises(PseudonymKeyError):
        read_key(tmp_path / "not there")
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(PseudonymKeyError):
        read_key(tmp_path / "link")


# --- the command, over a house that answers as the table service does ------------------------------------------------


class House:
    """A table's hands as the table service tells them; notes who opened which."""

    def __init__(self, table):
        self.table = table
        self.opened = []
        self.starts = {
            event.hand_id: number
            for number, event in enumerate(table.core)
            if isinstance(event, HandStarted | CapsaStarted)
        }

    def part(self, hand_id):
        begins = self.starts[hand_id]
        ends = next(n for n in range(begins, len(self.table.core)) if type(self.table.core[n]).__name__ == "HandEnded")
        return begins, ends

    def deck(self, started):
        return deal(started.hand_id, self.table.secrets[started.hand_id], {one.seat: one.seed for one in started.seeds})

    def tables_of(self, role, subject):
        async def get_hand(hand_id):
            begins, ends = self.part(hand_id)
            messages = [stored_message(public_event(event)) for event in self.table.events[begins : ends + 1]]
            return pb.GetHandResponse(table_id=str(self.table.stream), events=messages, is_ended=True)

        async def open_hand(hand_id, *, seat, reason, case_id):
            self.opened.append((role, subject, seat, reason, case_id))
            begins, ends = self.part(hand_id)
            started, dealt = self.table.core[begins], None
            dealt = next(e for e in self.table.core[begins : ends + 1] if hasattr(e, "holdings"))
            answer = pb.OpenHandResponse()
            for one, positions in zip(started.seats, dealt.holdings, strict=True):
                if seat in {None, one.seat}:
                    write_reveals(answer.seats.add(seat=one.seat).reveals, self.deck(started).reveals(positions))
            return answer

        return SimpleNamespace(get_hand=get_hand, open_hand=open_hand)

    @property
    def about(self):
        return About(table_id=str(self.table.stream), table_name="secret lobby", table_seats=6, chips="wallet")

    async def write(self, form, output, names=PLAIN, eyes=EVERYBODY):
        left_out = Counter()

        async def hands():
            for hand_id in self.table.hand_ids:
                yield await read_hand(self.tables_of, hand_id, eyes, self.about)

        return await export_hands.write_all(hands(), form, output, names, left_out), left_out

    def names(self):
        """Everything by which somebody could be known."""
        known = {str(self.table.stream), self.table.stream.hex, "secret lobby", "secret_lobby"}
        for event in self.table.core:
            known |= {getattr(event, field) for field in ("player", "hand_id", "transfer_id") if hasattr(event, field)}
            if isinstance(event, HandStarted | CapsaStarted):
                known |= {seat.player for seat in event.seats} | {seat.sitting for seat in event.seats}
                known |= {event.deck_root.hex(), event.secret_commitment.hex()}
        return known - {""}


@pytest.fixture(params=["holdem", "capsa"])
def house(request):
    return House(played(105, 4) if request.param == "holdem" else played_capsa(31, 3))


@pytest.mark.parametrize("form", TEXTS)
async def test_no_name_is_left_over_in_any_text(house, tmp_path, form):
    """A canary: every id and name of the table is looked for in the bytes."""
    await house.write(form, tmp_path / "plain")
    count, _ = await house.write(form, tmp_path / "out", ONE)
    plain, out = ((tmp_path / name).read_text() for name in ("plain", "out"))
    assert [name for name in house.names() if name in out] == []
    if count:
        assert [name for name in house.names() if name in plain], "or nothing was looked for"
        started = house.table.core[house.starts[house.table.hand_ids[0]]]
        assert ONE.player(started.seats[0].player) in out


async def test_no_name_is_left_over_in_parquet(house, tmp_path):
    from pyarrow import parquet

    await house.write("parquet", tmp_path / "plain")
    await house.write("parquet", tmp_path / "out", ONE)
    told = {
        kind: " ".join(
            str(row) for name in ("hands", "players", "actions")
            for row in parquet.read_table(tmp_path / kind / f"{name}.parquet").to_pylist()
        )
        for kind in ("plain", "out")
    }  # fmt: skip
    assert [name for name in house.names() if name in told["out"]] == []
    assert [name for name in house.names() if name in told["plain"]]


def cards_in(text):
    """The cards of a text; of lines of JSON those of their fields, for bytes may look like anything."""
    if text.startswith('{"format"'):
        return set(re.findall(r'"card":"(..)"', text))
    return set(re.findall(r"[2-9TJQKA][cdhs]", text))


@pytest.mark.parametrize("form", ["ohh", "pokerstars", "jsonl", "phh"])
async def test_mucked_cards_come_through_the_auditors_door_alone(tmp_path, form):
    """P10, S4: everybody's export opens nothing; an own export opens the own seat; an auditor's names its reason."""
    house = House(played(105, 1))
    begins, ends = house.part(house.table.hand_ids[0])
    core = house.table.core[begins : ends + 1]
    started = core[0]
    deck = house.deck(started).cards
    dealt = next(event for event in core if isinstance(event, HoleCardsDealt)).holdings
    shown = {at for event in core if isinstance(event, CardsShown | BoardDealt) for at in event.positions}
    mucked = [set(map(format_card, (deck[at] for at in holding))) for holding in dealt if not set(holding) <= shown]
    assert mucked, "or nothing could be told too early"

    async def told(eyes):
        await house.write(form, tmp_path / "out", PLAIN, eyes)
        return cards_in((tmp_path / "out").read_text())

    seen = await told(Eyes(PUBLIC))
    assert not any(cards <= seen for cards in mucked)
    assert house.opened == []
    own = started.seats[next(n for n, holding in enumerate(dealt) if not set(holding) <= shown)]
    seen = await told(Eyes(OWN, own.player))
    assert [cards for cards in mucked if cards <= seen] == mucked[:1]
    assert house.opened == [(Role.PLAYER, own.player, own.seat, "", "")]
    seen = await told(Eyes(AUDITOR, reason="complaint 4711", case_id="4711"))
    assert all(cards <= seen for cards in mucked)
    assert house.opened[1:] == [(Role.AUDITOR, "replay", None, "complaint 4711", "4711")]


async def test_what_a_format_cannot_tell_is_counted_with_its_reason(tmp_path):
    house = House(played_capsa(31, 3))
    for form in ("phh", "ohh", "pokerstars"):
        count, left_out = await house.write(form, tmp_path / "out")
        assert count == 0
        ((why, times),) = left_out.items()
        assert "Capsa" in why
        assert times == len(house.table.hand_ids)
    for form in ("jsonl", "parquet"):
        assert await house.write(form, tmp_path / form) == (len(house.table.hand_ids), Counter())


async def test_a_text_stands_under_its_name_when_it_is_whole(tmp_path, monkeypatch):
    house = House(played(105, 2))
    await house.write("jsonl", tmp_path / "out")
    before = (tmp_path / "out").read_text()

    def cut_short(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(export_hands.native, "hand_lines", cut_short)
    with pytest.raises(OSError, match="no space"):
        await house.write("jsonl", tmp_path / "out")
    assert (tmp_path / "out").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
