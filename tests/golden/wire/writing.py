"""Writes the golden bytes of a schema version, once. Existing files are never written over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec

from diwan.core.games.capsa.events import CapsaOnlyEvent
from diwan.core.games.capsa.stakes import StakeEvent
from diwan.core.hand.events import Acted, HandEvent, HandStarted, NaikoEvent, RunoutHeld, RunoutReleased, TimeBankBegan
from diwan.core.ledger.events import LedgerCommitted
from diwan.core.log import StreamKind
from diwan.core.table.events import CarriedPotReturned, MatchEnded, MatchStarted, TableCreated, TableOnlyEvent
from diwan.core.table.hosting.events import HostingEvent, SettingsChanged
from diwan.core.table.tournament.events import TournamentTableEvent
from diwan.core.table.waiting.events import WaitingEvent
from diwan.core.tournament.events import EntryRequested, SeedOpened, SeedsAsked, TournamentCreated, TournamentEvent
from diwan.verifier import verify_stream
from diwan.wire.events import encode, kind_name, type_id_of

EVENTS = Path(__file__).with_name("events_v1.json")
NAIKO_EVENTS = Path(__file__).with_name("events_naiko_v1.json")
CAPSA_EVENTS = Path(__file__).with_name("events_capsa_v1.json")
HOSTING_EVENTS = Path(__file__).with_name("events_hosting_v1.json")
CARRIED_EVENTS = Path(__file__).with_name("events_carried_v1.json")
CLOCK_EVENTS = Path(__file__).with_name("events_clocks_v1.json")
MATCH_EVENTS = Path(__file__).with_name("events_match_v1.json")
LEDGER_EVENTS = Path(__file__).with_name("events_ledger_v1.json")
WAITING_EVENTS = Path(__file__).with_name("events_waiting_v1.json")
TOURNAMENT_EVENTS = Path(__file__).with_name("events_tournament_table_v1.json")
FLOOR_EVENTS = Path(__file__).with_name("events_tournament_v1.json")
SEED_EVENTS = Path(__file__).with_name("events_seeds_v1.json")
LOG = Path(__file__).with_name("log_v1.json")
KINDS = (*get_args(HandEvent.__value__), *get_args(TableOnlyEvent.__value__), LedgerCommitted)
CAPSA_KINDS = (*get_args(CapsaOnlyEvent.__value__), *get_args(StakeEvent.__value__))
WAITING_KINDS = get_args(WaitingEvent.__value__)
TOURNAMENT_KINDS = (*get_args(TournamentTableEvent.__value__), RunoutHeld, RunoutReleased)
SEED_KINDS = (SeedsAsked, SeedOpened)
FLOOR_KINDS = get_args(TournamentEvent.__value__)
HOSTING_KINDS = get_args(HostingEvent.__value__)
NONCE = bytes(range(16))


def core_kind(name: str) -> type:
    kinds = (*KINDS, *CAPSA_KINDS, *HOSTING_KINDS, *WAITING_KINDS, *TOURNAMENT_KINDS, *FLOOR_KINDS)
    return next(kind for kind in kinds if kind_name(type_id_of(kind)) == name)


def filled(annotation, number: int = 7):
    """A value of a type with nothing left at its default: what proto3 leaves out would test nothing."""
    match annotation:
        case msgspec.inspect.IntType():
            return number
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.StrType():
            return f"text {number}"
        case msgspec.inspect.BytesType():
            return bytes([number]) * 32
        case msgspec.inspect.LiteralType(values=names):
            return max(names)
        case msgspec.inspect.UnionType(types=kinds):
            return filled(kinds[0], number)
        case msgspec.inspect.VarTupleType(item_type=item):
            return tuple(filled(item, number + step) for step in (1, 2))
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            return cls(**{field.name: filled(field.type, number + at) for at, field in enumerate(fields)})


def written_naiko_events() -> dict:
    """What Naiko added to schema 1: events of its own, and fields of the beginning that other games leave out."""
    return written_events((*get_args(NaikoEvent.__value__), HandStarted))


def written_capsa_events() -> dict:
    """Hands of Capsa and stakes of pairs, which came to schema 1 later."""
    return written_events(CAPSA_KINDS)


def written_hosting_events() -> dict:
    """Private tables, which came to schema 1 later: events of their own, and a host in the beginning."""
    return written_events((*HOSTING_KINDS, TableCreated))


def written_carried_events() -> dict:
    """What Sarab's tables added to schema 1: carried chips that go back."""
    return written_events((CarriedPotReturned,))


def written_clock_events() -> dict:
    """Time banks and delayed spectators, which came to schema 1 later."""
    return written_events((TimeBankBegan, HandStarted, Acted, TableCreated, SettingsChanged))


def written_match_events() -> dict:
    """Matches, which came to schema 1 later: events of their own, and terms in the beginning."""
    return written_events((MatchStarted, MatchEnded, TableCreated))


def written_ledger_events() -> dict:
    """What the ledger's commits said later in schema 1: holds and their ends, reversals, freezes, consents, shortfalls."""
    return written_events((LedgerCommitted,))


def written_waiting_events() -> dict:
    """The line for a seat, which came to schema 1 later."""
    return written_events((*WAITING_KINDS, SettingsChanged))


def written_tournament_events() -> dict:
    """Tournaments' tables, which came to schema 1 later: events of their own, terms, and what a hand begins with."""
    return written_events((*TOURNAMENT_KINDS, TableCreated, HandStarted))


def written_floor_events() -> dict:
    """Tournaments themselves."""
    return written_events(FLOOR_KINDS)


def written_seed_events() -> dict:
    """Seeds of a tournament's first draw, which came to schema 1 later: events of their own, and terms."""
    return written_events((*SEED_KINDS, TournamentCreated, EntryRequested))


def written_events(kinds: tuple[type, ...] = KINDS) -> dict:
    from tests.unit.wire.strategies import reveal_of

    corpus = {}
    for kind in kinds:
        event = filled(msgspec.inspect.type_info(kind))
        one = encode(event, nonce=NONCE, reveal=reveal_of)
        corpus[kind_name(one.type_id)] = {
            "type_id": one.type_id,
            "schema_v": one.schema_v,
            "body": one.body.hex(),
            "event": msgspec.to_builtins(event),
        }
    return corpus


def written_log() -> dict:
    from tests.unit.verifier.logs import played

    table = played(2026, 4)
    report = verify_stream(table.stream.bytes, StreamKind.TABLE, table.events)
    return {
        "events": msgspec.to_builtins(table.events),
        "hands": [hand.hand_id for hand in report.hands],
        "acts": [hand.acts for hand in report.hands],
        "reveals": [hand.reveals for hand in report.hands],
    }


def main() -> None:
    for path, made in (
        (EVENTS, written_events),
        (NAIKO_EVENTS, written_naiko_events),
        (CAPSA_EVENTS, written_capsa_events),
        (HOSTING_EVENTS, written_hosting_events),
        (CARRIED_EVENTS, written_carried_events),
        (CLOCK_EVENTS, written_clock_events),
        (MATCH_EVENTS, written_match_events),
        (LEDGER_EVENTS, written_ledger_events),
        (WAITING_EVENTS, written_waiting_events),
        (TOURNAMENT_EVENTS, written_tournament_events),
        (FLOOR_EVENTS, written_floor_events),
        (SEED_EVENTS, written_seed_events),
        (LOG, written_log),
    ):
        if not path.exists():
            path.write_text(json.dumps(made(), indent=1) + "\n")


if __name__ == "__main__":
    main()
