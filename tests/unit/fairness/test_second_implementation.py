"""Page, code and second implementation mean the same."""

import re
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diwan.chassis import keyfile, vault
from diwan.core import fairness, hashing, merkle
from diwan.core.cards import format_cards
from diwan.history.phh.read import read_documents, read_hand
from diwan.wire.imported import import_hand
from services.table.codes import hash_of
from tests.unit.fairness import second_implementation as second

PAGE = Path(__file__).parents[3] / "docs/reference/hashing.md"
TEXT = PAGE.read_text(encoding="utf-8")

HASHES = st.binary(min_size=32, max_size=32)
SEED_SETS = st.dictionaries(st.integers(0, 8), HASHES)
SMALL = st.integers(0, 2**15 - 1)
BIG = st.integers(0, 2**63 - 1)


def _vectors(section):
    """The page's vectors of one section, each value as its text."""
    part = re.search(rf"^## {section}\. .*?(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"```text\n(.*?)```", part.group(), re.DOTALL)
    return dict(re.split(r" *= ", line, maxsplit=1) for block in lines for line in block.splitlines())


def _raw(text):
    return b"" if text == "-" else bytes.fromhex(text)


def _indexed(vectors, name):
    found = {}
    for key, value in vectors.items():
        if match := re.fullmatch(rf"{re.escape(name)}\[(\d+)\]", key):
            found[int(match[1])] = value
    assert found, name
    return found


HAND = _vectors(2)["hand_id"]
SECRET = _raw(_vectors(3)["secret"])
SEEDS = {seat: _raw(seed) for seat, seed in _indexed(_vectors(3), "seed").items()}


def test_the_second_implementation_knows_nothing_of_diwan():
    source = Path(second.__file__).read_text(encoding="utf-8")

    assert re.findall(r"^(?:import|from) (\S+)", source, re.MULTILINE) == ["hashlib", "hmac", "uuid"]


def test_every_section_has_vectors():
    sections = [int(number) for number in re.findall(r"^## (\d+)\. ", TEXT, re.MULTILINE)]

    assert sections == list(range(1, 18))
    assert all(_vectors(section) for section in sections)


def test_fields_are_written_as_the_page_says():
    v = _vectors(1)
    values = (v["label"], int(v["integer"]), v["text"], _raw(v["bytes"]))

    assert second.fields(*values).hex() == v["prefixed"] == hashing.prefixed(*values).hex()
    assert second.digest(second.fields(*values)).hex() == v["sha256"] == hashing.hashed(*values).hex()


def test_a_hand_is_named_as_the_page_says():
    v = _vectors(2)
    table = uuid.UUID(v["table_id"])

    assert str(second.hand_id(table, int(v["hand_no"]))) == HAND == str(uuid.uuid5(table, f"hand/{v['hand_no']}"))


def test_commitments_are_those_of_the_page():
    v = _vectors(3)
    hand = uuid.UUID(HAND)
    expected = v["secret_commitment"]

    assert second.secret_commitment(hand, SECRET).hex() == expected == fairness.secret_commitment(HAND, SECRET).hex()
    for seat, commitment in _indexed(v, "seed_commitment").items():
        assert second.seed_commitment(hand, seat, SEEDS[seat]).hex() == commitment
        assert fairness.seed_commitment(HAND, seat, SEEDS[seat]).hex() == commitment


def test_the_deck_of_the_page_is_dealt_by_both():
    v = _vectors(4)
    deck = second.Deck(uuid.UUID(HAND), SECRET, SEEDS)
    bare = second.Deck(uuid.UUID(HAND), SECRET, {})

    assert (deck.mix.hex(), deck.k_deck.hex(), deck.k_salt.hex()) == (v["mix"], v["k_deck"], v["k_salt"])
    assert [second.mac(deck.k_deck, second.u64(n)).hex() for n in (0, 1)] == [v["block[0]"], v["block[1]"]]
    assert deck.bytes_used == int(v["bytes_used"]) > 51
    assert " ".join(map(second.card_text, deck.cards)) == v["deck"]
    assert " ".join(map(second.card_text, bare.cards)) == v["deck_without_seeds"]
    assert format_cards(fairness.deal(HAND, SECRET, SEEDS).cards) == v["deck"]
    assert format_cards(fairness.deal(HAND, SECRET, {}).cards) == v["deck_without_seeds"]
    assert fairness.deal(HAND, SECRET, {}).root.hex() == v["root_without_seeds"] == bare.root.hex()


def test_the_walk_of_the_page_is_the_beginning_of_its_shuffle():
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| ([-\d, ]+) \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)
    source = second.stream(_raw(_vectors(4)["k_deck"]))

    assert len(rows) >= 6
    for (top, n, limit, dropped, byte, chosen), expected_top in zip(rows, range(51, 0, -1), strict=False):
        for refused in map(int, dropped.split(", ") if dropped != "-" else []):
            assert next(source) == refused >= int(limit)
        assert (int(top), int(n), int(limit)) == (expected_top, expected_top + 1, 256 - 256 % (expected_top + 1))
        assert next(source) == int(byte) < int(limit)
        assert int(byte) % int(n) == int(chosen)


def test_salts_leaves_and_root_are_those_of_the_page():
    v = _vectors(5)
    deck = second.Deck(uuid.UUID(HAND), SECRET, SEEDS)
    ours = fairness.deal(HAND, SECRET, SEEDS)

    assert deck.root.hex() == v["root"] == ours.root.hex()
    for position, salt in _indexed(v, "salt").items():
        assert deck.salts[position].hex() == salt == ours.reveal(position).salt.hex()
    for position, leaf in _indexed(v, "leaf").items():
        assert deck.leaves[position].hex() == leaf


def test_the_reveals_of_the_page_hold_for_both():
    v = _vectors(6)
    root = _raw(_vectors(5)["root"])
    ours = fairness.deal(HAND, SECRET, SEEDS)
    for position, card in _indexed(v, "card").items():
        path = [_raw(sibling) for _, sibling in sorted(_indexed(v, f"path[{position}]").items())]
        salt = _raw(v[f"salt[{position}]"])
        number = second.RANKS.index(card[0]) * 4 + second.SUITS.index(card[1])

        assert second.reveal_holds(uuid.UUID(HAND), root, position, number, salt, path)
        assert ours.reveal(position) == fairness.Reveal(position, number, salt, tuple(path))


def test_the_draws_of_the_page_are_made_by_both():
    v = _vectors(7)
    subject = uuid.UUID(HAND)
    weights = list(map(int, v["weights"].split()))
    wide = list(map(int, v["multiplier_weights"].split()))
    first = second.Draws(SECRET, v["label"], subject)

    assert first.key.hex() == v["k_draw"]
    assert first.number() == int(v["first_word"])
    for ordinal, expected in ((0, v["drawn"]), (1, v["drawn_ordinal_1"])):
        assert second.Draws(SECRET, v["label"], subject, ordinal).weighted(weights) == int(expected)
        assert fairness.draw(SECRET, v["label"], HAND, weights, ordinal=ordinal) == int(expected)
    drawn = int(v["multiplier_drawn_with_seeds"])
    assert second.Draws(SECRET, "multiplier/v1", subject, 0, SEEDS).weighted(wide) == drawn
    assert fairness.draw(SECRET, "multiplier/v1", HAND, wide, seeds=SEEDS) == drawn
    order = list(map(int, v["order"].split()))
    assert second.Draws(SECRET, v["order_label"], subject).order(int(v["order_count"])) == order
    assert list(fairness.draw_order(SECRET, v["order_label"], HAND, int(v["order_count"]))) == order


def test_the_request_of_the_page_has_its_hash():
    v = _vectors(8)
    request = _raw(v["request"])

    assert second.request_hash(v["method"], request).hex() == v["request_hash"]
    assert hashing.request_hash(v["method"], request).hex() == v["request_hash"]


@pytest.mark.parametrize("library", [second, hashing])
def test_the_chain_and_the_feed_of_the_page_are_reproduced(library):
    v, feed = _vectors(9), _vectors(10)

    def as_id(text):
        return uuid.UUID(text) if library is second else hashing.uuid_bytes(text)

    stream, command = as_id(v["stream_id"]), as_id(v["command_id"])
    previous = library.first_prev_hash(stream, int(v["kind"]))
    assert previous.hex() == v["first_prev_hash"]
    leaves = []
    for version, body in sorted(_indexed(v, "body").items()):
        numbers = (int(v[f"{name}[{version}]"]) for name in ("type_id", "schema_v", "recorded_at_ms"))
        previous = library.event_hash(previous, stream, version, *numbers, command, _raw(body))
        assert previous.hex() == v[f"hash[{version}]"]
        entry = (int(feed["feed_id"]), version, stream, version, previous)
        leaves.append(library.feed_leaf(*entry))
        if version == 1:
            assert library.feed_entry(*entry).hex() == feed["entry[1]"]
    assert [leaf.hex() for leaf in leaves] == list(_indexed(feed, "leaf").values())
    root = second.tree_root if library is second else merkle.root
    assert [root(leaves[:size]).hex() for size in range(4)] == list(_indexed(feed, "root").values())


def test_the_keys_at_rest_of_the_page_are_derived_and_bound_as_it_says():
    v = _vectors(11)
    master, day, hand = _raw(v["master"]), int(v["day"]), uuid.UUID(v["hand_id"])

    epoch, commitment = int(v["epoch"]), _raw(v["commitment"])

    assert second.master_of_next_day(master, day).hex() == v["master_next_day"]
    assert second.wrapping_key(master, day).hex() == v["wrap_key"]
    assert second.day_key_aad(day).hex() == v["day_key_aad"]
    assert second.hand_key_aad(hand, epoch, day, commitment).hex() == v["hand_aad"]
    assert second.fingerprint(SECRET).hex() == v["fingerprint"]
    assert keyfile.next_master(master, day).hex() == v["master_next_day"]
    assert keyfile.wrapping_key_of(master, day).hex() == v["wrap_key"]
    assert vault.day_key_aad(day).hex() == v["day_key_aad"]
    assert vault.hand_key_aad(str(hand), epoch, day, commitment).hex() == v["hand_aad"]
    assert vault.fingerprint(SECRET).hex() == v["fingerprint"]


@given(st.uuids(), HASHES, SEED_SETS, st.integers(0, 51))
def test_both_deal_the_same_deck_from_random_material(hand, secret, seeds, position):
    ours, theirs = fairness.deal(str(hand), secret, seeds), second.Deck(hand, secret, seeds)
    reveal = ours.reveal(position)

    assert list(ours.cards) == theirs.cards
    assert ours.root == theirs.root
    assert reveal == fairness.Reveal(
        position, theirs.cards[position], theirs.salts[position], tuple(theirs.path(position))
    )
    assert second.reveal_holds(hand, ours.root, position, reveal.card, reveal.salt, reveal.path)
    assert fairness.secret_commitment(str(hand), secret) == second.secret_commitment(hand, secret)
    for seat, seed in seeds.items():
        assert fairness.seed_commitment(str(hand), seat, seed) == second.seed_commitment(hand, seat, seed)


@given(st.uuids(), st.binary(min_size=32, max_size=32), st.integers(0, 51), st.integers(0, 51), st.integers(0, 7))
def test_both_judge_damaged_reveals_alike(hand, secret, position, other, cut):
    deck = fairness.deal(str(hand), secret, {})
    reveal = deck.reveal(position)
    for candidate in (
        fairness.Reveal(other, reveal.card, reveal.salt, reveal.path),
        fairness.Reveal(position, other, reveal.salt, reveal.path),
        fairness.Reveal(position, reveal.card, reveal.salt, reveal.path[:cut]),
        fairness.Reveal(position, reveal.card, reveal.salt, (*reveal.path, reveal.salt)[: cut + 1]),
    ):
        theirs = second.reveal_holds(
            hand, deck.root, candidate.position, candidate.card, candidate.salt, candidate.path
        )
        assert fairness.verify_reveal(str(hand), deck.root, candidate) == theirs


@given(
    st.uuids(),
    HASHES,
    st.text(min_size=1, max_size=20),
    st.integers(0, 99),
    SEED_SETS,
    st.lists(st.integers(0, 2**60), min_size=1, max_size=8).filter(any),
)
def test_both_draw_alike_from_random_material(subject, secret, label, ordinal, seeds, weights):
    ours = fairness.draw(secret, label, str(subject), weights, seeds=seeds, ordinal=ordinal)
    order = fairness.draw_order(secret, label, str(subject), len(weights), seeds=seeds, ordinal=ordinal)

    assert ours == second.Draws(secret, label, subject, ordinal, seeds).weighted(weights)
    assert list(order) == second.Draws(secret, label, subject, ordinal, seeds).order(len(weights))


@given(HASHES, st.uuids(), BIG, SMALL, SMALL, BIG, st.uuids(), st.binary(max_size=200))
def test_both_hash_random_events_and_entries_alike(prev, stream, version, type_id, schema, at, command, body):
    ours = hashing.event_hash(prev, stream.bytes, version, type_id, schema, at, command.bytes, body)

    assert ours == second.event_hash(prev, stream, version, type_id, schema, at, command, body)
    assert hashing.first_prev_hash(stream.bytes, type_id) == second.first_prev_hash(stream, type_id)
    assert hashing.feed_leaf(schema, at, stream.bytes, version, ours) == second.feed_leaf(
        schema, at, stream, version, ours
    )
    assert hashing.request_hash(str(command), body) == second.request_hash(str(command), body)


@given(st.lists(HASHES, max_size=70))
def test_both_grow_the_same_tree(leaves):
    assert merkle.root(leaves) == second.tree_root(leaves)


def test_an_imported_hand_is_named_and_salted_as_the_page_says():
    v = _vectors(14)
    told, stream_id, hand = second.imported(_raw(v["source"]), v["label"])

    assert (told.hex(), str(stream_id), str(hand)) == (v["told"], v["stream_id"], v["hand_id"])
    for position, salt in _indexed(v, "salt").items():
        assert second.imported_salt(told, position).hex() == salt
    for version, nonce in _indexed(v, "nonce").items():
        assert second.imported_nonce(told, version).hex() == nonce


def test_a_hand_is_imported_as_the_second_implementation_says():
    source = (
        b'variant = "NT"\nantes = [0, 0]\nblinds_or_straddles = [5, 10]\nmin_bet = 10\nstarting_stacks = [100, 100]\n'
        b'actions = ["d dh p1 AsKd", "d dh p2 7c2h", "p2 f"]\n'
    )
    hand = read_hand(read_documents(source.decode())[0].fields)

    stored = import_hand(hand, source, "", 1)
    told, stream_id, hand_id = second.imported(source, "")

    assert stored.hand_id == str(hand_id)
    assert {event.stream_id for event in stored.events} == {stream_id.bytes}
    assert all(second.imported_nonce(told, event.version) in event.body for event in stored.events)
    assert all(second.imported_salt(told, reveal.position) == reveal.salt for reveal in stored.hidden)


@given(st.text(alphabet="0123456789ABCDEFGHJKMNPQRSTVWXYZoil", min_size=16, max_size=16))
def test_a_join_code_is_hashed_as_the_page_says(code):
    v = _vectors(15)
    assert second.join_code(v["code"]).hex() == v["code_hash"] == hash_of(v["code"]).hex()
    assert second.join_code(code) == hash_of(code)
