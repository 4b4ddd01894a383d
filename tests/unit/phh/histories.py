"""Poker Hand Histories made for tests; the players are invented."""

SHOWDOWN = """
variant = 'NT'
antes = [0, 0, 0]
blinds_or_straddles = [1, 2, 0]
min_bet = 2
starting_stacks = [200, 200, 100]
actions = [
  'd dh p1 AsKs', 'd dh p2 7h7d', 'd dh p3 QcQd',
  'p3 cbr 6', 'p1 cc', 'p2 f',  # preflop
  'd db 2s9sTh', 'p1 cc', 'p3 cbr 10 # half the pot', 'p1 cc',
  'd db 3d', 'p1 cc', 'p3 cc',
  'd db 4s', 'p1 cbr 20', 'p3 cc',
  'p1 sm AsKs', 'p3 sm',
]
players = ['Amal', 'Badr', 'Chadia']
finishing_stacks = [238, 198, 64]
"""

HEADS_UP = """
variant = 'NT'
antes = [0, 1]
blinds_or_straddles = [5, 10]
min_bet = 10
starting_stacks = [100, 100]
actions = ['d dh p1 ????', 'd dh p2 ????', 'p2 f']
finishing_stacks = [105, 95]
"""

OMAHA = """
variant = 'PO'
antes = [0, 0]
blinds_or_straddles = [0.5, 1.0]
min_bet = 1
starting_stacks = [40.25, 30.5]
actions = [
  'd dh p1 AhAdKhKd', 'd dh p2 9s8s7d6d', 'p2 cbr 3', 'p1 cbr 9', 'p2 cc', 'd db 2h3h4c', 'p1 cbr 18', 'p2 cbr 21.5',
  'p1 cc', 'p1 sm -', 'p2 sm -', 'd db 5s', 'd db Jh',
]
winnings = [61, 0]
finishing_stacks = [70.75, 0]
"""


def with_field(text, name, value):
    """Return a history with a field changed, added, or (None) left out."""
    head, _, tail = text.partition(f"\n{name} = ")
    if tail:
        closing = tail.index("\n]\n") + 3 if tail.startswith("[\n") else tail.index("\n") + 1
        tail = tail[closing:]
    return head + "\n" + ("" if value is None else f"{name} = {value}\n") + tail
