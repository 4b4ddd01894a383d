"""The catalogue of `diwan play`: whole in both languages, whatever a table may send."""

import re
from pathlib import Path
from string import Formatter

import pytest

import diwan.cli.play
from diwan.api.event.v1 import capsa_pb2, hand_pb2, table_pb2
from diwan.cli.play.words import BETTING_GAMES, GAMES, Words, phrases, typed_words, without_marks
from diwan.client.messages import name_of
from diwan.core.evaluation import CATEGORIES
from diwan.core.games.capsa.settings import NATURAL_KINDS
from diwan.core.reasons import Reason

CODE = "\n".join(path.read_text() for path in sorted(Path(diwan.cli.play.__file__).parent.glob("*.py")))


def facts(text):
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name)


def test_every_phrase_is_there_in_both_languages_with_the_same_facts():
    wrong = [
        key for _, key, texts in phrases() if set(texts) != {"en", "ar"} or facts(texts["en"]) != facts(texts["ar"])
    ]
    assert wrong == []


def test_arabic_is_arabic():
    """Only what both languages write alike has no Arabic letter: a prompt, or facts in a row."""
    latin = {
        key
        for _, key, texts in phrases()
        if not re.search("[\u0600-\u06ff]", Formatter().vformat(texts["ar"], (), _Facts()))
    }
    assert latin <= {"prompt", "level", "power_not_now", "acted",
                     "acted_amount", "posted", "dealt", "shows", "shows_made", "shows_named", "and_all_in", "key_fold", "key_check",
                     "key_call", "key_only", "key_all_in", "match_place"}  # fmt: skip


class _Facts(dict):
    def __missing__(self, key):
        return ""


def test_every_phrase_that_the_program_names_is_in_the_catalogue():
    known = {key for _, key, _ in phrases()}
    named = set(re.findall(r"""(?:(?<!typed_)words|_say)\((?:words, )?"([a-z_]+)\"""", CODE))
    assert len(named) > 80
    assert named - known == set()


def test_every_phrase_is_used():
    """By its name, by a name that is put together, or as a word that a table sends; two are there for translators."""
    sent = {*CATEGORIES, *NATURAL_KINDS, *(reason.name for reason in Reason), "ace", "blinds"}
    for enum in (hand_pb2.Street, hand_pb2.PostKind, capsa_pb2.CapsaStatus):
        sent |= {name_of(enum, number) for number in enum.values()}
    sent |= {"declaring", "bot", "no_board"}
    sent |= {f"tour_cancelled_{reason}" for reason in ("too_few", "house_short", "operator")}
    parts = re.compile(r"(does|void|cause|line|key)_[a-z_]+")
    unused = [key for _, key, _ in phrases() if f'"{key}"' not in CODE and key not in sent and not parts.fullmatch(key)]
    assert unused == []


@pytest.mark.parametrize("game", GAMES)
def test_every_hand_has_its_name(game):
    assert [name for name in CATEGORIES if name not in Words("ar", game)] == []


@pytest.mark.parametrize("game", BETTING_GAMES)
def test_streets_actions_and_forced_bets_have_their_words(game):
    words = Words("ar", game)
    for enum, numbers in (
        (hand_pb2.Street, range(1, 6)),
        (hand_pb2.ActionKind, range(1, 6)),
        (hand_pb2.PostKind, range(1, 5)),
    ):
        assert [number for number in numbers if name_of(enum, number) not in words] == []


def test_every_cause_and_every_void_hand_has_its_sentence():
    words = Words("en", "holdem")
    causes = [f"cause_{name_of(table_pb2.SeatCause, number)}" for number in table_pb2.SeatCause.values() if number]
    voids = [f"void_{name_of(hand_pb2.VoidReason, number)}" for number in hand_pb2.VoidReason.values() if number]
    assert [key for key in causes + voids if key not in words] == []


def test_every_natural_and_every_standing_of_capsa_has_its_word():
    words = Words("ar", "capsa")
    standings = [name_of(capsa_pb2.CapsaStatus, number) for number in (2, 3)]
    assert [key for key in [*NATURAL_KINDS, *standings, "setting", "declaring", "over"] if key not in words] == []


def test_every_reason_why_a_power_is_out_of_reach_has_its_words():
    """As `diwan.core.games.naiko.rules.why_not` gives them."""
    source = Path(diwan.cli.play.__file__).parents[2] / "core/games/naiko/rules.py"
    reasons = set(re.findall(r"Reason\.([A-Z_]+)", source.read_text()))
    assert len(reasons) >= 10
    assert reasons <= {reason.name for reason in Reason}
    assert [reason for reason in sorted(reasons) if reason not in Words("ar", "naiko")] == []


@pytest.mark.parametrize(("game", "street", "flush"), [("sarab", "السّيل", "زات"), ("naiko", "الريفر", "اللون")])
def test_the_same_thing_has_another_word_in_another_game(game, street, flush):
    words = Words("ar", game)
    assert (words("river"), words("flush")) == (street, flush)


def test_facts_of_arabic_keep_their_own_direction_and_english_has_no_marks():
    arabic, english = Words("ar", "holdem"), Words("en", "holdem")
    assert arabic("you_won", amount=1200) == "ربحت \u20681,200\u2069 في هذه اليد."
    assert arabic.line("x")[0] == "\u200f"
    assert arabic.cards("A♠") == "\u2066A♠\u2069"
    assert without_marks(english.line(english("you_won", amount=1200))) == "You won 1,200 in this hand."


def test_actions_can_be_typed_in_the_words_of_every_game():
    known = typed_words("fold", "check", "call", "bet", "raise")
    for game in BETTING_GAMES:
        for kind in ("fold", "check", "call", "bet", "raise"):
            assert known[Words("ar", game)(kind)] == kind
