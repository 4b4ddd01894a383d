"""What requests may hold: every field is looked at before anything is done with it (L11, A2)."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import tournament_pb2
from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX
from diwan.chassis.fields import an_id, page_size, request_id
from diwan.core.decider import Rejected
from diwan.core.hand.settings import HandSettings
from diwan.core.tournament.settings import BotTerms, EntryTerms, FloorRules, Payout, TableTerms, TournamentConfig
from diwan.wire.hand import write_settings
from diwan.wire.mapping import MalformedEvent
from diwan.wire.mirror import mirror_of
from diwan.wire.tournament import read_tournament_config

__all__ = ["an_id", "config", "page_size", "player", "reason", "request_id", "words"]

REASON_CHARACTERS_MAX: Final = 500
_USUAL: Final = (
    ("entries", EntryTerms(), tournament_pb2.TournamentEntryTerms),
    ("payout", Payout(), tournament_pb2.TournamentPayout),
    ("floor", FloorRules(), tournament_pb2.TournamentFloorRules),
    ("bots", BotTerms(), tournament_pb2.TournamentBotTerms),
    ("tables", TableTerms(), tournament_pb2.TournamentTableTerms),
)


def player(text: str) -> str:
    """Return a player id; raises FIELD_REQUIRED or FIELD_INVALID."""
    if not text:
        raise Rejected("FIELD_REQUIRED", field="player")
    if len(text) > PLAYER_ID_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="player", why="not a player id")
    return text


def reason(text: str) -> str:
    """Return an operator's reason; raises REASON_REQUIRED or FIELD_INVALID."""
    if not text.strip():
        raise Rejected("REASON_REQUIRED")
    if len(text) > REASON_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="reason", why=f"at most {REASON_CHARACTERS_MAX} printable characters")
    return text.strip()


def words(texts: list[str], field: str) -> tuple[str, ...]:
    """Return a filter's short words; raises FIELD_INVALID."""
    if len(texts) > 10 or any(not 0 < len(text) <= 20 or not text.isprintable() for text in texts):
        raise Rejected("FIELD_INVALID", field=field, why="at most 10 words")
    return tuple(texts)


def config(message: tournament_pb2.TournamentConfig) -> TournamentConfig:
    """Return a tournament's settings; parts that are left out whole are as usual, everything else counts as it stands.

    Raises FIELD_INVALID for what is no setting at all; whether the settings make sense is the core's to say.
    """
    whole = tournament_pb2.TournamentConfig()
    whole.CopyFrom(message)
    for name, usual, kind in _USUAL:
        if not whole.HasField(name):  # type: ignore[arg-type]  # one of its own, by the list above
            part = getattr(whole, name)
            part.SetInParent()
            mirror_of(type(usual), kind).write(part, usual)
    if not whole.HasField("hand"):
        write_settings(whole.hand, HandSettings())
    try:
        return read_tournament_config(whole)
    except MalformedEvent as error:
        raise Rejected("FIELD_INVALID", field="config", why=str(error)) from None
