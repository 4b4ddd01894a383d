"""The games by name. Each module says only how its game differs from the one it is built on."""

from collections.abc import Mapping
from typing import Final

from diwan.core.games.holdem import Holdem
from diwan.core.games.naiko.game import Naiko
from diwan.core.games.omaha import Omaha
from diwan.core.games.sarab import Sarab

GAMES: Final[Mapping[str, Holdem]] = {game.name: game for game in (Holdem(), Omaha(), Naiko(), Sarab())}
