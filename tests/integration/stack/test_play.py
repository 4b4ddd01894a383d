"""`diwan play` by keyboard, a hand of each game against bots on a real house, wrong input included."""

import asyncio
import re
from contextlib import contextmanager

from diwan.chassis.access import Role
from diwan.chassis.embedded.process import wait_until
from diwan.client import connect
from diwan.client.messages import TableFilter
from diwan.core.tournament.settings import BotTerms, Ladder, Level, TableTerms, TournamentConfig
from tests.integration.stack.typing_at import Typist

QUICK = {"pause_ms": 500, "seats": 4, "bots_fill": 3}


def as_operator(open_house, work):
    async def done():
        async with connect(open_house.places.services, open_house.token("test", Role.OPERATOR)) as client:
            return await work(client)

    return asyncio.run(done())


@contextmanager
def table(open_house, **config):
    """Yield the id of a table that is closed again, lest its bots play on."""
    table_id = as_operator(
        open_house, lambda client: client.tables.create({"name": "play", **QUICK, **config})
    ).table_id
    yield table_id
    as_operator(open_house, lambda client: client.tables.close(table_id))


def open_tables(open_house, game):
    async def listed(client):
        return [entry.name async for entry in client.tables.lobby(TableFilter(games=[game]))]

    return as_operator(open_house, listed)


def at(open_house, *arguments, **how):
    return Typist(open_house.layout.root, *arguments, "--hands", "1", **how)


def play_on(player, ending, first=()):
    """Answer each prompt: by the lines of ``first`` in turn, then by checking or calling, until the hand is over."""
    lines = list(first)
    while not re.search(ending, player.until(rf"\n> $|{ending}")):
        player.type(lines.pop(0) if lines else quiet_answer(player.text))


def quiet_answer(text):
    """Return the cheapest answer to the last question of a text."""
    asked = [line for line in text.splitlines() if re.search(r"\?  (help|مساعدة)|p  (let it pass|دعها تمر)", line)][-1]
    if re.search("let it pass|دعها", asked):
        return "p"
    return next(key for key in ("x", "c", "f", "a") if f"{key}  " in asked)


def test_a_hand_of_holdem_at_a_table_that_is_opened_for_it(open_house):
    with at(open_house, "--game", "holdem", "--name", "amal") as player:
        player.until(r"A table with bots is opened for you: Practice Hold'em")
        play_on(player, r"checked: your 2 cards", ["hello", "?", "r", "b 1", "r 1000000", "t"])
        assert player.ended() == 0
        text = player.text

    assert '"hello" is not understood' in text
    assert "Amounts are totals of this betting round" in text
    assert re.search(r"How much\? . takes a total from", text)
    assert re.search(r"1,000,000 is too much: [\d,]+ at most", text)
    assert "│" in text
    assert re.search(r"You (won|lost) [\d,]+ in this hand|You neither won nor lost", text)
    assert text.rstrip().endswith("The table that was opened for you closes.")
    assert wait_until(lambda: open_tables(open_house, "holdem") == [], 10)  # the lobby follows the log


def test_a_hand_of_omaha_through_pipes_has_no_colours_and_no_boxes(open_house):
    config = {"hand": {"game": "omaha", "limit": "pot_limit", "small_blind": 5, "big_blind": 10}}
    with (
        table(open_house, **config) as table_id,
        at(open_house, table_id, "--name", "badr", "--chips", "400", in_terminal=False) as player,
    ):
        player.until(r"Conditions: Omaha, pot-limit, blinds 5/10")
        while "checked" not in player.until(r"checked: your 4 cards|Your turn.*\n.*help"):
            player.type(quiet_answer(player.text))
        assert player.ended() == 0
        text = player.text

    assert "You sit at seat" in text
    assert re.search(r"your cards: (\S+ ){3}\S+\n", text)
    assert "\x1b" not in text
    assert "│" not in text


def test_a_hand_of_naiko_with_its_powers(open_house):
    config = {"hand": {"game": "naiko", "small_blind": 5, "big_blind": 10}}
    with table(open_house, **config) as table_id, at(open_house, table_id, "--name", "celine") as player:
        play_on(player, r"checked: your \d+ cards", ["n 99", "d 7", "g", "s", "nonsense"])
        assert player.ended() == 0
        text = player.text

    assert "Powers of this hand, each with its price" in text
    assert re.search(r"not now: \w+", text)
    assert re.search(r"Short Anchor: .*\.|Say which seat: n SEAT", text)
    assert re.search(r"Sleeve Trick: .*\.|Say which card goes", text)
    assert re.search(r"You saw the next card of the deck: \S+|Hidden Glance: .*\.", text)
    assert "is not understood" in text


def test_a_hand_of_sarab_in_arabic_at_a_match(open_house):
    """The match is opened for the player and cannot be left with its coins: its table is closed, which ends it."""
    with at(open_house, "--game", "sarab", "--lang", "ar", "--name", "dima") as player:
        player.until("فُتحت لك طاولة مع بوتات")
        play_on(player, "تم التحقق", ["c 1", "t"])
        assert player.ended() == 0
        text = player.text

    for said in ("الرهان الإجباري", "الغنيمة", "دينار ذهبي", "ما قبل الكشف", "تُغلق الطاولة التي فُتحت لك"):
        assert said in text
    assert "Your turn" not in text


def test_a_hand_of_capsa_set_by_keyboard(open_house):
    config = {"capsa": {"unit": 10, "set_seconds": 60, "declare_seconds": 20}, "seats": 3, "bots_fill": 2}
    with table(open_house, **config) as table_id, at(open_house, table_id, "--name", "emad") as player:
        asked = player.until(r"Set your thirteen cards(.*\n)*?> $|checked: your 13 cards")
        is_asked = "Set your thirteen cards" in asked  # of who holds a natural nothing is asked
        if is_asked:
            cards = re.findall(r"│(?:\x1b\[[\d;]*m)?│?([2-9TJQKA][♣♦♥♠])│", asked)[-13:]
            for line, answer in (
                ("f 1x", r"is no card"),
                (f"f {' '.join(cards[:2])}", r"The front takes 3 cards, you named 2"),
                ("l", r"Place all thirteen cards first"),
                (f"m {' '.join(cards[:5])}", r"middle: (?!-)"),
                ("clear", r"middle: -"),
                ("auto", r"Rows are in order"),
                ("l", r"Locked\."),
            ):
                player.type(line)
                player.until(answer)
            if "checked: " not in player.text:
                told = player.until(r"Do you play this set.*|checked: ")
                if "Do you play" in told:
                    player.type("p")
                    player.until(r"checked: your 13 cards")
        assert player.ended() == 0
        text = player.text

    assert ("saved as a draft" in text) == is_asked
    assert "Pair by pair:" in text
    assert re.search(r"you - \S+ \(BOT\): |\(BOT\) - you: ", text)


DUEL = TournamentConfig(
    name="Duel",
    kind="sit_and_go",
    table_size=2,
    players_min=2,
    players_max=2,
    entry=100,
    fee=10,
    starting_stack=40,
    ladder=Ladder(levels=(Level(small_blind=10, big_blind=20, duration_ms=600_000),)),
    bots=BotTerms(up_to=1, after_ms=0),
    # Time for the player's stream to be there: who is away is dealt in, and two blinds are all there is.
    tables=TableTerms(pause_ms=1_000),
    first_hand_ms=4_000,
)


def test_a_tournament_is_entered_by_a_yes_and_played_to_its_place_and_prize(open_house):
    created = as_operator(open_house, lambda client: client.tournaments.create(DUEL))
    with Typist(open_house.layout.root, "--tournament", created.tournament.tournament_id, "--name", "fadi") as player:
        player.until(
            r"Entry: 110, of which 100 for prizes and 10 for the house\. In your wallet: 10,000\. Enter\?.*\n> "
        )
        player.type("y")
        while "rize" not in (told := player.until(r"Your turn(.*\n)+?> $|Your prize: .*\n|No prize.*\n")):
            player.type("a" if "a  all-in" in told else "c")
        assert player.ended() == 0
        text = player.text

    assert "Your seat: table 1, seat" in text
    assert re.search(r"== Duel · level 1: 10/20 · .* of 2 left · .*to win 200 ==\n.*== Hold'em · 10/20 · hand \d", text)
    won = re.search(r"You win the tournament, first of 2!\nYour prize: (\d+) chips", text)
    lost = re.search(r"You are out: place 2 of 2\.", text)
    assert bool(won) != bool(lost)
