"""Random hands of Sarab: any seats, stacks, levels, settings and carried pots."""

from msgspec.structs import replace

from diwan.core.games.sarab import forced_bet_of, forced_dues
from diwan.core.hand.settings import HandSettings, SarabSettings
from tests.property.random_hands import Played, random_start


def random_settings(chance):
    """Settings that a table may have; small numbers, so that every one of them matters."""
    first = chance.choice([1, 2, 5, 10])
    return SarabSettings(
        forced_bets=tuple(sorted(first * chance.randint(1, 6) for _ in range(chance.randint(1, 4)))),
        deals_per_level=chance.randint(1, 3),
        void_rule=chance.choice(["no_voluntary_bet", "no_voluntary_bet", "no_raise", "off"]),
        void_antes=chance.choice(["refund", "carry"]),
        void_counts_as_deal=chance.random() < 0.5,
        raises_before_river=chance.choice([0, 1, 1, 1, 2]),
        sarab_ignores_cap=chance.random() < 0.7,
        no_fold_at_or_below=chance.choice([0, first, 5 * first, 50]),
    )


def random_sarab_start(chance, **choices):
    """A StartHand as matches make them; stacks often around the forced bet, where rules are delicate."""
    settings = random_settings(chance)
    deal_no = chance.randint(1, 12)
    forced_bet = forced_bet_of(settings, deal_no)
    largest = forced_bet * chance.choice([2, 6, 40])
    command = random_start(chance, **choices)
    return replace(
        command,
        settings=HandSettings(
            game="sarab",
            small_blind=0,
            big_blind=forced_bet,
            sarab=settings,
            short_allins_add_up=command.settings.short_allins_add_up,
            show_all_in=command.settings.show_all_in,
        ),
        seats=tuple(replace(seat, stack=chance.randint(1, largest)) for seat in command.seats),
        big_blind_seat=None,
        dues=forced_dues([seat.seat for seat in command.seats], forced_bet),
        deal_no=deal_no,
        carried=chance.choice([0, 0, chance.randint(1, largest)]),
    )


def played_sarab(seed):
    return Played(seed, start=random_sarab_start)
