import copy
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.core.cards import DECK
from diwan.core.fairness import (
    Check,
    OpeningFault,
    Reveal,
    Secret,
    deal,
    secret_commitment,
    seed_commitment,
    verify_opening,
    verify_reveal,
)

HAND = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
OTHER_HAND = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"
SECRET = Secret(bytes(range(32)))
SEEDS = {0: b"\x10" * 32, 4: b"\x14" * 32, 7: b"\x17" * 32}
COMMITMENTS = {seat: seed_commitment(HAND, seat, seed) for seat, seed in SEEDS.items()}

SECRETS = st.binary(min_size=32, max_size=32)
SEED_SETS = st.dictionaries(st.integers(0, 8), SECRETS)


def _open(**change):
    deck = deal(HAND, SECRET, SEEDS)
    facts = {
        "hand_id": HAND,
        "secret": SECRET,
        "seeds": SEEDS,
        "committed": secret_commitment(HAND, SECRET),
        "seed_commitments": COMMITMENTS,
        "root": deck.root,
        "reveals": deck.reveals([0, 1, 17, 51]),
    }
    return verify_opening(**(facts | change))


@given(st.uuids(), SECRETS, SEED_SETS)
def test_any_secret_and_seeds_give_all_52_cards_and_every_one_is_provable(hand, secret, seeds):
    """F5 and F3."""
    deck = deal(str(hand), secret, seeds)

    assert tuple(sorted(deck.cards)) == DECK
    assert all(verify_reveal(str(hand), deck.root, deck.reveal(position)) for position in range(52))


def test_the_same_material_gives_the_same_deck_whatever_the_order_of_the_seeds():
    backwards = dict(reversed(SEEDS.items()))

    assert deal(HAND, SECRET, SEEDS).root == deal(HAND, SECRET, backwards).root


def test_every_part_of_the_material_changes_the_deck():
    decks = [
        deal(HAND, SECRET, SEEDS),
        deal(OTHER_HAND, SECRET, SEEDS),
        deal(HAND, bytes(32), SEEDS),
        deal(HAND, SECRET, SEEDS | {0: bytes(32)}),
        deal(HAND, SECRET, {1 if seat == 0 else seat: seed for seat, seed in SEEDS.items()}),
        deal(HAND, SECRET, {}),
    ]

    assert len({deck.root for deck in decks}) == len(decks)
    assert len({deck.cards for deck in decks}) == len(decks)


def test_a_seat_that_opens_late_changes_nothing():
    """F2: seat 7 committed, saw nothing in time, and opens after the deck is committed."""
    in_time = {seat: seed for seat, seed in SEEDS.items() if seat != 7}
    deck = deal(HAND, SECRET, in_time)

    opening = _open(seeds=in_time, root=deck.root, reveals=deck.reveals(range(52)))
    assert opening.is_verified
    late = _open(root=deck.root, reveals=deck.reveals(range(52)))
    assert late.faults[0] == OpeningFault(Check.ROOT_DIFFERS)


def test_a_last_mover_can_only_open_what_it_committed_or_nothing():
    """F2: grinding over seeds after the others have opened is an opening that was never committed."""
    for attempt in range(20):
        ground = SEEDS | {7: attempt.to_bytes(32)}
        deck = deal(HAND, SECRET, ground)
        opening = _open(seeds=ground, root=deck.root, reveals=())

        assert opening.faults == (OpeningFault(Check.SEED_DIFFERS, seat=7),)


def test_commitments_are_bound_to_hand_and_seat_and_kind():
    seed = b"\x10" * 32
    commitments = {
        seed_commitment(HAND, 0, seed),
        seed_commitment(HAND, 1, seed),
        seed_commitment(OTHER_HAND, 0, seed),
        secret_commitment(HAND, seed),
        secret_commitment(OTHER_HAND, seed),
    }

    assert len(commitments) == 5


@pytest.mark.parametrize("position", [0, 17, 31, 32, 47, 48, 51])
def test_all_2703_other_cards_and_positions_of_one_reveal_are_refused(position):
    """F3."""
    deck = deal(HAND, SECRET, SEEDS)
    true = deck.reveal(position)
    forgeries = [
        Reveal(other_position, other_card, true.salt, true.path)
        for other_position in range(52)
        for other_card in DECK
        if (other_position, other_card) != (position, true.card)
    ]

    assert len(forgeries) == 2703
    assert not any(verify_reveal(HAND, deck.root, forgery) for forgery in forgeries)
    assert verify_reveal(HAND, deck.root, true)


def test_a_reveal_with_another_salt_path_root_or_hand_is_refused():
    """F3."""
    deck = deal(HAND, SECRET, SEEDS)
    true, neighbour = deck.reveal(20), deck.reveal(21)
    change = msgspec.structs.replace
    flipped = [
        (*true.path[:level], bytes([sibling[0] ^ 1]) + sibling[1:], *true.path[level + 1 :])
        for level, sibling in enumerate(true.path)
    ]
    forgeries = [
        change(true, salt=neighbour.salt),
        change(true, salt=true.salt[:-1]),
        change(true, salt=true.salt + b"\x00"),
        change(true, path=neighbour.path),
        change(true, path=true.path[:-1]),
        change(true, path=(*true.path, bytes(32))),
        change(true, path=tuple(reversed(true.path))),
        change(true, path=()),
        change(true, position=-32),
        change(true, position=52),
        change(true, card=-1),
        change(true, card=52),
        *(change(true, path=path) for path in flipped),
    ]

    assert not any(verify_reveal(HAND, deck.root, forgery) for forgery in forgeries)
    assert not verify_reveal(OTHER_HAND, deck.root, true)
    for root in (deal(HAND, SECRET, {}).root, bytes(32), b"", deck.root[:-1]):
        assert not verify_reveal(HAND, root, true)


def test_there_is_no_reveal_outside_the_deck():
    deck = deal(HAND, SECRET, SEEDS)
    for position in (-1, 52):
        with pytest.raises(IndexError):
            deck.reveal(position)


def test_salts_do_not_repeat_within_a_hand_or_between_hands():
    salts = {deal(hand, SECRET, SEEDS).reveal(k).salt for hand in (HAND, OTHER_HAND) for k in range(52)}

    assert len(salts) == 104


def test_an_honest_opening_is_verified_and_gives_the_deck():
    opening = _open()

    assert opening.is_verified
    assert opening.deck is not None
    assert opening.deck.cards == deal(HAND, SECRET, SEEDS).cards


def test_a_seat_that_committed_and_did_not_open_is_no_fault():
    assert _open(seed_commitments=COMMITMENTS | {2: bytes(32)}).is_verified


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"committed": bytes(32)}, {Check.SECRET_DIFFERS}),
        ({"secret": bytes(32)}, {Check.SECRET_DIFFERS, Check.ROOT_DIFFERS, Check.REVEAL_DIFFERS}),
        ({"secret": b"short"}, {Check.SECRET_DIFFERS}),
        ({"root": bytes(32)}, {Check.ROOT_DIFFERS}),
        ({"hand_id": OTHER_HAND}, {Check.SECRET_DIFFERS, Check.SEED_DIFFERS, Check.ROOT_DIFFERS, Check.REVEAL_DIFFERS}),
        ({"seeds": SEEDS | {4: bytes(32)}}, {Check.SEED_DIFFERS, Check.ROOT_DIFFERS, Check.REVEAL_DIFFERS}),
        ({"seeds": SEEDS | {4: b"short"}}, {Check.SEED_DIFFERS}),
        ({"seeds": {0: SEEDS[0], 4: SEEDS[4]}}, {Check.ROOT_DIFFERS, Check.REVEAL_DIFFERS}),
        ({"seed_commitments": {0: COMMITMENTS[0], 4: COMMITMENTS[4]}}, {Check.SEED_NOT_COMMITTED}),
        ({"seed_commitments": COMMITMENTS | {0: COMMITMENTS[4]}}, {Check.SEED_DIFFERS}),
    ],
)
def test_an_opening_says_which_check_failed(change, faults):
    """F5: wrong secret, seeds, root or hand are told apart."""
    assert {fault.check for fault in _open(**change).faults} == faults


def test_a_duplicated_or_exchanged_card_is_found_at_its_position():
    """F5."""
    deck = deal(HAND, SECRET, SEEDS)
    honest = deck.reveals([3, 4])
    doubled = msgspec.structs.replace(honest[1], card=honest[0].card)

    assert _open(reveals=(honest[0], doubled)).faults == (OpeningFault(Check.REVEAL_DIFFERS, position=4),)
    outside = msgspec.structs.replace(honest[1], position=-1)
    assert _open(reveals=(outside,)).faults == (OpeningFault(Check.REVEAL_DIFFERS, position=-1),)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_material_of_another_size_is_refused_without_being_shown(size):
    raw = b"\xc5" * size
    for attempt in (
        lambda: Secret(raw),
        lambda: secret_commitment(HAND, raw),
        lambda: seed_commitment(HAND, 0, raw),
        lambda: deal(HAND, raw, {}),
        lambda: deal(HAND, SECRET, {0: raw}),
    ):
        with pytest.raises(ValueError, match="32 bytes") as caught:
            attempt()
        assert "c5" not in repr(caught.value)


def _tokens(deck):
    tokens = {"secret": SECRET, "salt": deck.reveal(9).salt}
    return [form for raw in tokens.values() for form in (repr(bytes(raw))[2:-1], raw.hex())] + [
        str(list(deck.cards))[1:-1]
    ]


def test_nothing_that_is_printed_shows_secret_salt_or_cards():
    """S6: representations end up in logs and tracebacks."""
    deck = deal(HAND, SECRET, SEEDS)
    reveal = deck.reveal(9)
    opening = _open()
    printed = [f"{x!r} {x} {x!s}" for x in (SECRET, deck, reveal, opening, [SECRET, deck], {"a": reveal})]
    printed += [repr(reveal.__rich_repr__()), "%s %r" % (SECRET, deck)]  # noqa: UP031  (old formatting must redact too)

    for text in printed:
        assert not any(token in text for token in _tokens(deck))
        assert f"card={reveal.card}" not in text


def test_a_deck_leaves_its_process_by_no_serializer():
    deck = deal(HAND, SECRET, SEEDS)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError):
            leave(deck)
    assert not hasattr(deck, "__dict__")
