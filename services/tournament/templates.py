"""The templates that are shipped: settings of whole tournaments, checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import msgspec

from diwan.core.tournament.checking import checked
from diwan.core.tournament.settings import TournamentConfig

SUFFIX: Final = ".toml"


@cache
def templates() -> Mapping[str, TournamentConfig]:
    """Return the templates by name; raises what checking raises where one makes no sense."""
    folder = files("diwan.core.tournament").joinpath("templates")
    found = {}
    for file in folder.iterdir():
        if file.name.endswith(SUFFIX):
            name = file.name.removesuffix(SUFFIX)
            config = msgspec.toml.decode(file.read_bytes(), type=TournamentConfig)
            found[name] = checked(msgspec.structs.replace(config, template=name))
    return MappingProxyType(found)
