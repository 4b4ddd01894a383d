"""What a table shows of its tournament, and its message."""

from __future__ import annotations

from typing import Final, get_type_hints

from diwan.api.table.v1 import view_pb2 as pb
from diwan.core import view
from diwan.wire.tournament_table import ANTE_NAME, ANTE_NUMBER

_STEP: Final = tuple(name for name in get_type_hints(view.LadderStepView) if name != "ante_kind")
_PLAIN: Final = tuple(name for name in get_type_hints(view.TournamentView) if name not in {"level", "coming"})


def write_tournament(message: pb.TournamentView, shown: view.TournamentView) -> None:
    """Fill a message with the tournament's side of a table."""
    message.SetInParent()
    for name in _PLAIN:
        setattr(message, name, getattr(shown, name))
    _write_step(message.level, shown.level)
    for step in shown.coming:
        _write_step(message.coming.add(), step)


def read_tournament(message: pb.TournamentView) -> view.TournamentView:
    """Return the tournament's side of a table."""
    return view.TournamentView(
        level=_read_step(message.level),
        coming=tuple(map(_read_step, message.coming)),
        **{name: getattr(message, name) for name in _PLAIN},
    )


def _write_step(message: pb.LadderStep, step: view.LadderStepView) -> None:
    message.SetInParent()
    for name in _STEP:
        setattr(message, name, getattr(step, name))
    message.ante_kind = ANTE_NUMBER[step.ante_kind]


def _read_step(message: pb.LadderStep) -> view.LadderStepView:
    return view.LadderStepView(
        ante_kind=ANTE_NAME[message.ante_kind], **{name: getattr(message, name) for name in _STEP}
    )
