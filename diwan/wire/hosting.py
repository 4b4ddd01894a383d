"""Events of private tables and their messages. Most have the same plain fields on both sides."""

from __future__ import annotations

from typing import Final

from diwan.api.event.v1 import hosting_pb2 as pb
from diwan.core.table.hosting import events as hosting
from diwan.wire.mapping import Row, named, plain_row
from diwan.wire.table import read_config, write_config

HOST_CAUSE_NUMBER, HOST_CAUSE_NAME = named(hosting.HostCause, pb.HostCause)


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
    plain_row(hosting.InvitationSent, pb.InvitationSent),
    plain_row(hosting.InvitationAnswered, pb.InvitationAnswered),
    plain_row(hosting.InvitationRevoked, pb.InvitationRevoked),
    plain_row(hosting.JoinCodeIssued, pb.JoinCodeIssued),
    plain_row(hosting.JoinCodeRevoked, pb.JoinCodeRevoked),
    plain_row(hosting.GuestJoined, pb.GuestJoined),
    plain_row(hosting.GuestRemoved, pb.GuestRemoved),
    plain_row(hosting.TablePaused, pb.TablePaused),
    plain_row(hosting.TableResumed, pb.TableResumed),
    Row(hosting.HostChanged, _write_host_changed, _read_host_changed),
    Row(hosting.SettingsChanged, _write_settings_changed, _read_settings_changed),
)
