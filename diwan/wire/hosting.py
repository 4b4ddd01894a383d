"""Events of private tables and their messages. Most have the same plain fields on both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import fields

from diwan.api.event.v1 import hosting_pb2 as pb
from diwan.core.table.hosting import events as hosting
from diwan.wire.mapping import Row, named
from diwan.wire.table import read_config, write_config

HOST_CAUSE_NUMBER, HOST_CAUSE_NAME = named(hosting.HostCause, pb.HostCause)


def _plain(kind: Any, message_class: Any) -> Row:
    """Return the row of an event whose message has its fields, by the same names and of the same types."""
    names = tuple(field.name for field in fields(kind))
    assert set(names) == set(message_class.DESCRIPTOR.fields_by_name), f"{kind.__name__} differs"  # noqa: S101

    def write(message: Any, event: Any) -> None:
        for name in names:
            setattr(message, name, getattr(event, name))

    read: Callable[[Any], Any] = lambda message: kind(*(getattr(message, name) for name in names))  # noqa: E731
    return Row(kind, write, read)


def _write_host_changed(message: pb.HostChanged, event: hosting.HostChanged) -> None:
    message.host = event.host
    message.cause = HOST_CAUSE_NUMBER[event.cause]
    message.changed_by = event.changed_by
    message.is_operator = event.is_operator
    message.changed_at_ms = event.changed_at_ms


def _read_host_changed(message: pb.HostChanged) -> hosting.HostChanged:
    return hosting.HostChanged(
        message.host,
        HOST_CAUSE_NAME[message.cause],
        message.changed_by,
        message.is_operator,
        message.changed_at_ms,
    )


def _write_settings_changed(message: pb.SettingsChanged, event: hosting.SettingsChanged) -> None:
    write_config(message.config, event.config)
    message.changed_by = event.changed_by
    message.is_operator = event.is_operator
    message.changed_at_ms = event.changed_at_ms


def _read_settings_changed(message: pb.SettingsChanged) -> hosting.SettingsChanged:
    return hosting.SettingsChanged(
        read_config(message.config), message.changed_by, message.is_operator, message.changed_at_ms
    )


HOSTING_ROWS: Final = (
    _plain(hosting.InvitationSent, pb.InvitationSent),
    _plain(hosting.InvitationAnswered, pb.InvitationAnswered),
    _plain(hosting.InvitationRevoked, pb.InvitationRevoked),
    _plain(hosting.JoinCodeIssued, pb.JoinCodeIssued),
    _plain(hosting.JoinCodeRevoked, pb.JoinCodeRevoked),
    _plain(hosting.GuestJoined, pb.GuestJoined),
    _plain(hosting.GuestRemoved, pb.GuestRemoved),
    _plain(hosting.TablePaused, pb.TablePaused),
    _plain(hosting.TableResumed, pb.TableResumed),
    Row(hosting.HostChanged, _write_host_changed, _read_host_changed),
    Row(hosting.SettingsChanged, _write_settings_changed, _read_settings_changed),
)
