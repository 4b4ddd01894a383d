"""Rows for analysts: every chip of every recorded hand, of all games, and Parquet files that give them back."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from diwan.cli.histories import parquet as files
from diwan.core.cards import format_card
from diwan.core.games.capsa.events import Answered, SetLocked, SetUnlocked
from diwan.core.hand.events import Acted, AnchorAnswered, AnchorDeclared, CardGlanced, CardSwapped, HandEnded, Posted
from diwan.history import Entry
from diwan.history.exports.record import NotWritable
from diwan.history.exports.rows import hand_rows
from tests.golden.record import HERE
from tests.golden.stored import golden_capsa, golden_hand
from tests.unit.exports.hands import ABOUT, STARTED_MS, played

GOLDEN = [
    *[(golden_hand, path.stem) for path in sorted((HERE / "hands").glob("*.json"))],
    *[(golden_capsa, path.stem) for path in sorted((HERE / "capsa").glob("*.json"))],
]
DECIDED = (
    *(Posted, Acted, CardGlanced, CardSwapped, AnchorDeclared, AnchorAnswered, SetLocked, SetUnlocked, Answered),
)


def entries(events, began_ms=STARTED_MS):
    return [
        Entry(version, getattr(event, "received_at_ms", began_ms), b"", event)
        for version, event in enumerate(events, 7)
    ]


@pytest.mark.parametrize(("read", "name"), GOLDEN, ids=[name for _, name in GOLDEN])
def test_the_chips_of_every_recorded_hand_add_up(read, name):
    one = read(name)
    cards = {int(at): card for at, card in one.cards.items()}
    made = hand_rows(entries(one.events), cards, ABOUT)
    ended = one.events[-1]
    assert isinstance(ended, HandEnded)
    assert [row.payoff for row in made.players] == list(ended.payoffs)
    assert len(made.actions) == sum(isinstance(event, DECIDED) for event in one.events)
    for row in made.players:
        assert row.stack_after - row.stack == row.payoff
        own = [action for action in made.actions if action.seat == row.seat]
        assert row.put_in == sum(action.added for action in own)
        if made.hand.game != "capsa" and made.hand.result != "void":
            assert row.payoff == row.won + row.returned - row.put_in
    if made.hand.game != "capsa" and made.hand.result != "void":
        assert made.hand.pot == sum(row.won for row in made.players)
    assert {row.hand_id for row in (made.hand, *made.players, *made.actions)} == {made.hand.hand_id}


def test_an_action_tells_street_pot_and_how_long_it_took():
    log, cards = played()
    made = hand_rows(entries(log), cards, ABOUT)
    assert [(row.kind, row.added, row.total, row.pot, row.street, row.is_all_in) for row in made.actions] == [
        ("small_blind", 10, 10, 0, "preflop", False),
        ("big_blind", 20, 20, 10, "preflop", False),
        ("raise", 60, 60, 30, "preflop", False),
        ("raise", 200, 200, 90, "preflop", False),
        ("fold", 0, 10, 290, "preflop", False),
        ("call", 180, 200, 290, "preflop", False),
        ("raise", 240, 300, 470, "preflop", True),
        ("call", 100, 300, 710, "preflop", False),
        ("call", 100, 300, 810, "preflop", False),
        ("bet", 800, 800, 910, "flop", False),
        ("call", 600, 600, 1710, "flop", True),
    ]
    assert [row.decided_by for row in made.actions[:3]] == ["system", "system", "player"]
    assert made.actions[0].thought_ms is None
    assert made.actions[2].thought_ms == made.actions[2].at_ms - STARTED_MS
    assert (made.hand.pot, made.hand.board, made.hand.result) == (2110, "2d 7c Kh 9s 3c", "showdown")
    assert [row.cards for row in made.players] == ["As Kd", "9c 9d", "Qh Qs", "7d 2c"]


def test_cards_that_the_reader_may_not_know_are_null():
    log, cards = played()
    made = hand_rows(entries(log), {at: card for at, card in cards.items() if at >= 8}, ABOUT)
    assert [row.cards for row in made.players] == [None] * 4
    told = repr(made)
    assert not [card for at, card in cards.items() if at < 8 and f"'{format_card(card)}" in told]


def test_a_hand_that_is_not_over_has_no_rows():
    log, cards = played()
    for part in ([], log[:-1]):
        with pytest.raises(NotWritable):
            hand_rows(entries(part), cards, ABOUT)


def test_parquet_files_give_every_row_back(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(files, "GROUP_ROWS", 5)
    log, cards = played()
    made = hand_rows(entries(log), cards, ABOUT)
    with files.ParquetFiles(tmp_path / "out") as out:
        for _ in range(4):
            out.add(made)
        assert not list((tmp_path / "out").glob("*.parquet")), "nothing half-written stands under its name"
    for name, rows in (("hands", [made.hand]), ("players", made.players), ("actions", made.actions)):
        table = parquet.read_table(tmp_path / "out" / f"{name}.parquet")
        expected = [{key: getattr(row, key) for key in row.__struct_fields__} for row in rows] * 4
        assert table.to_pylist() == expected
        assert table.schema.metadata[b"diwan.version"] == files.VERSION.encode()
        assert [field.name for field in table.schema if field.nullable] == [
            key for key, hint in rows[0].__annotations__.items() if "None" in str(hint)
        ]


def test_a_fault_leaves_the_files_of_before(tmp_path: Path):
    log, cards = played()
    made = hand_rows(entries(log), cards, ABOUT)
    with files.ParquetFiles(tmp_path) as out:
        out.add(made)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def cut_short():
        with files.ParquetFiles(tmp_path) as out:
            out.add(made)
            raise RuntimeError("cut")

    with pytest.raises(RuntimeError, match="cut"):
        cut_short()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
