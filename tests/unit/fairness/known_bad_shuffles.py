"""Shuffles that were really used and are wrong, for the statistics to find. None of this is near the product."""

import functools

import numpy as np

CARDS = 52


def _new_decks(count):
    return np.tile(np.arange(CARDS, dtype=np.uint8), (count, 1))


def _exchange(decks, at, chosen):
    lanes = np.arange(len(decks))
    held = decks[lanes, at].copy()
    decks[lanes, at] = decks[lanes, chosen]
    decks[lanes, chosen] = held


def random_comparator(count):
    """``deck.sort(() => Math.random() - 0.5)``."""
    # A sort of 52 cards compares about 220 times.
    coins = iter(np.random.default_rng(1).choice((-1, 1), count * 300).tolist())
    key = functools.cmp_to_key(lambda _a, _b: next(coins))
    return np.array([sorted(range(CARDS), key=key) for _ in range(count)], dtype=np.uint8)


def sattolo(count):
    """Fisher-Yates that never leaves a card where it is: one off, and only cycles come out."""
    chance, decks = np.random.default_rng(2), _new_decks(count)
    for top in range(CARDS - 1, 0, -1):
        _exchange(decks, top, chance.integers(0, top, count))
    return decks


def swap_with_any(count):
    """Every card changes place with any of the 52: 52^52 ways do not divide evenly among 52! orders."""
    chance, decks = np.random.default_rng(3), _new_decks(count)
    for at in range(CARDS):
        _exchange(decks, at, chance.integers(0, CARDS, count))
    return decks


def clock_seeded_1999(count):
    """The shuffle that ASF Software published and Cigital broke in 1999.

    A 32-bit generator seeded by milliseconds since midnight; every card swaps with one of the first 51.
    """
    chance, decks = np.random.default_rng(4), _new_decks(count)
    state = chance.integers(0, 86_400_000, count).astype(np.uint64)
    for at in range(CARDS):
        state = (state * np.uint64(134775813) + np.uint64(1)) & np.uint64(0xFFFFFFFF)
        _exchange(decks, at, ((state * np.uint64(51)) >> np.uint64(32)).astype(np.int64))
    return decks


def byte_modulo(count):
    """Fisher-Yates on good bytes taken modulo the number of choices, without rejection."""
    chance, decks = np.random.default_rng(5), _new_decks(count)
    for top in range(CARDS - 1, 0, -1):
        _exchange(decks, top, chance.integers(0, 256, count) % (top + 1))
    return decks


def cut_only(count):
    """A new deck cut at a random place: every card is everywhere equally often, and its neighbour never changes."""
    cuts = np.random.default_rng(6).integers(0, CARDS, count)
    return ((np.arange(CARDS) + cuts[:, None]) % CARDS).astype(np.uint8)


def clock_seeded_fair(count):
    """A fair shuffle of one seed in 86,400 (the second of the day): only its repeats give it away."""
    seconds = np.random.default_rng(7).integers(0, 86_400, count)
    return np.array([np.random.default_rng(second).permutation(CARDS) for second in seconds], dtype=np.uint8)


def one_secret_for_two_hands(count):
    """A fair shuffle, but each deck is dealt twice."""
    chance = np.random.default_rng(8)
    return np.repeat(chance.permuted(_new_decks((count + 1) // 2), axis=1), 2, axis=0)[:count]


def fair(count, seed):
    """What a fair shuffle looks like, from another generator than ours."""
    return np.random.default_rng(seed).permuted(_new_decks(count), axis=1)
