"""``diwan play``: sit down and play any game from the keyboard, with nothing but the client library.

It is also the example for who writes a client:

=====================  ==============================================================================================
module                 what it shows
=====================  ==============================================================================================
`finding`              the lobby: which table, under what conditions
`session`              the loop: what comes down a seat's stream, what goes up, what can go wrong on the way
`tour`, `tour_text`    a tournament: enter, follow the seat from table to table, hear the place and the prize
`deciding`             each command as a call of the client library
`scene`                what one seat sees: everything that is drawn or asked comes from views, no rule is computed here
`drawing*`, `telling`  views and events to text: pure functions
`parsing*`, `rows`     a typed line to a command: pure functions
`words`, `words.toml`  the words of every game in English and Arabic
`terminal`             keyboard and screen
=====================  ==============================================================================================
"""

from diwan.cli.play.command import play

__all__ = ["play"]
