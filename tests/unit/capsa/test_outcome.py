"""``capsa-outcome/v1``: the bytes that ``docs/reference/hashing.md`` describes, and what changes them."""

import re
from hashlib import sha256
from pathlib import Path
from struct import pack

from diwan.core.cards import format_cards, parse_cards
from diwan.core.games.capsa.outcome import outcome_bytes
from diwan.core.hand.commands import VoidHand
from tests.unit.capsa.play import Hand

PAGE = Path(__file__).parents[3] / "docs/reference/hashing.md"
SEAT_0 = "Ah 8c 3d | 9c 9h Jc 8d 2c | 6c 6d 6h 6s Ac"
SEAT_1 = "Qh Js 9d | Tc Td 5c 4d 2h | 7c 7d 7h 7s Kd"


def played(**changes):
    hand = Hand(SEAT_0, SEAT_1, **{"stacks": [1000, 500]} | changes)
    hand.lock_all()
    hand.play_all()
    return hand


def test_the_bytes_are_those_of_the_page():
    """Built here by hand from the page's table, and equal to its vector."""
    hand = played()
    fields = [
        b"capsa-outcome/v1",
        b"showdown",
        pack(">q", 1),
        pack(">2q", 0, 1),
        pack(">2q", 940, 560),
        pack(">2q", -60, 60),
        b"set,set",
        pack(">6q", 0, 0, 4, 0, 0, 4),
        pack(">9q", 0, 1, -1, -1, 0, -4, 0, -6, -60),
        bytes([0, 13, *parse_cards("Ah8c3d9c9hJc8d2c6c6d6h6sAc"), 1, 13, *parse_cards("QhJs9dTcTd5c4d2h7c7d7h7sKd")]),
    ]
    raw = b"".join(pack(">I", len(field)) + field for field in fields)
    assert outcome_bytes(hand.live, "showdown", hand.cards) == raw
    assert hand.state.ended.digest == sha256(raw).digest()

    vector = PAGE.read_text(encoding="utf-8").split("## 13. ")[1]
    assert re.search(r"outcome += (\w+)", vector).group(1) == raw.hex()
    assert re.search(r"sha256 += (\w+)", vector).group(1) == sha256(raw).hexdigest()
    dealt = [hand.cards[position] for position in range(26)]
    assert re.search(r"dealt += (.*)", vector).group(1) == format_cards(dealt)


def test_the_digest_knows_stakes_statuses_and_cards():
    digests = {
        played().state.ended.digest,
        played(unit=11).state.ended.digest,
        played(royalty_mode="net").state.ended.digest,
        played(one_royalty_per_player=True, royalty_mode="cancel").state.ended.digest,
        played(button=0).state.ended.digest,
        played(stacks=[1000, 501]).state.ended.digest,
    }
    surrendered = Hand(SEAT_0, SEAT_1, stacks=[1000, 500])
    surrendered.lock_all()
    surrendered.surrender(0)
    void = Hand(SEAT_0, SEAT_1, stacks=[1000, 500])
    void.when(VoidHand("interrupted", void.version, void.now))
    digests |= {surrendered.state.ended.digest, void.state.ended.digest}
    assert len(digests) == 7  # net and winner pay these two hands the same
