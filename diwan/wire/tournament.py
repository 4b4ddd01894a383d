"""Events of a tournament and its settings as messages: each mirrors the core's record, field by field."""

from __future__ import annotations

from typing import Any, Final, get_args

from diwan.api.event.v1 import tournament_pb2 as pb
from diwan.core.tournament import events as tournament
from diwan.core.tournament.settings import TournamentConfig
from diwan.wire.mirror import mirror_of, mirror_row

_TABLES_TOO: Final = frozenset({
    "EntrantSeated",
    "EntrantReleased",
    "StartModeSet",
    "RunoutHeld",
    "ClockSet",
    "ChipsAdded",
})  # fmt: skip
"""What happens to tables under the same names: a tournament's message has its own name in front."""


def _message(name: str) -> Any:
    return getattr(pb, f"Tournament{name}" if name in _TABLES_TOO else name)


KINDS: Final[tuple[Any, ...]] = get_args(tournament.TournamentEvent.__value__)
"""Every kind of event of a tournament."""

TOURNAMENT_ROWS: Final = tuple([mirror_row(kind, _message(kind.__name__)) for kind in KINDS])

_CONFIG: Final = mirror_of(TournamentConfig, pb.TournamentConfig)


def write_tournament_config(message: pb.TournamentConfig, config: TournamentConfig) -> None:
    """Fill a message with a tournament's settings."""
    _CONFIG.write(message, config)


def read_tournament_config(message: pb.TournamentConfig) -> TournamentConfig:
    """Return a tournament's settings; every part must be there, as in an event. Raises `MalformedEvent`."""
    config = _CONFIG.read(message)
    assert isinstance(config, TournamentConfig)  # noqa: S101  (what the mirror is of)
    return config
