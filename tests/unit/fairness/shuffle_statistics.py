"""Counts over many shuffles as standard scores: about 0 for a fair shuffle, far from 0 for one that favours something.

A sample is an array of shape (shuffles, 52); row k holds the cards of shuffle k in the order in which they leave.
"""

import numpy as np

CARDS = 52


def _score(counts, expected, mean, variance=None):
    """The chi-square of counts that are all expected alike, in its standard deviations from its mean."""
    chi_square = float(((counts - expected) ** 2).sum() / (variance or expected))
    return (chi_square - mean) / (2 * mean) ** 0.5


def position_score(sample):
    """Which card stands where: 52 x 52 cells of which 51 x 51 are free.

    Cells of a permutation hang together, which makes the sum of squares 52/51 times that of as many free cells.
    """
    cells = sample.astype(np.int64) * CARDS + np.arange(CARDS)
    counts = np.bincount(cells.ravel(), minlength=CARDS**2)
    expected = len(sample) / CARDS
    return _score(counts, expected, 51 * 51, variance=expected * 52 / 51)


def adjacency_score(sample):
    """Which card follows which, anywhere: 52 x 51 pairs.

    A pair follows with probability 1/52, so each cell adds 51/52 to the mean: 2652 * 51/52 = 51 * 51 in all.
    """
    sample = sample.astype(np.int64)
    pairs = sample[:, :-1] * CARDS + sample[:, 1:]
    counts = np.bincount(pairs.ravel(), minlength=CARDS**2).reshape(CARDS, CARDS)
    assert not counts.diagonal().any()
    return _score(counts[~np.eye(CARDS, dtype=bool)], len(sample) / CARDS, 51 * 51)


def pair_score(sample, first, second):
    """Which two cards stand at two positions of one shuffle, as a seat's hole cards do: 2652 pairs."""
    pairs = sample[:, first].astype(np.int64) * CARDS + sample[:, second]
    counts = np.bincount(pairs, minlength=CARDS**2).reshape(CARDS, CARDS)
    return _score(counts[~np.eye(CARDS, dtype=bool)], len(sample) / 2652, 2651)


def serial_score(sample, position):
    """Which card follows which at one position from each shuffle to the next: 52 x 52 cells."""
    pairs = sample[:-1, position].astype(np.int64) * CARDS + sample[1:, position]
    return _score(np.bincount(pairs, minlength=CARDS**2), (len(sample) - 1) / CARDS**2, CARDS**2 - 1)


def repeats(sample):
    """How many shuffles are the same as an earlier one: for 52! decks, none in any number of hands ever played."""
    return len(sample) - len(np.unique(sample, axis=0))
