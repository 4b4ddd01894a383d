"""``diwan token``: a token for development, signed with the stack's own key."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from diwan.chassis.access import BOT_PREFIX, Role
from diwan.cli.running import DEFAULT_DATA, DataOption, own_token
from diwan.cli.stack.layout import Layout


def token(
    subject: Annotated[str, typer.Argument(help="Whom the token names: an opaque player id, a back end's name.")],
    data: DataOption = DEFAULT_DATA,
    role: Annotated[Role, typer.Option(help="What the caller is.")] = Role.PLAYER,
    hours: Annotated[int, typer.Option(min=1, max=24 * 30, help="How long it is good for.")] = 24,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object instead of the bare token.")] = False,
) -> None:
    """Print a token for development. In production tokens come from your own identity service (JWT, EdDSA, JWKS)."""
    if role in {Role.PLAYER, Role.BOT} and (role is Role.BOT) != subject.startswith(BOT_PREFIX):
        raise typer.BadParameter(f"ids of bots begin with {BOT_PREFIX!r}, and no others do", param_hint="subject")
    text = own_token(Layout(data), subject, role, seconds=hours * 3600)
    print(json.dumps({"token": text, "subject": subject, "role": role.value, "hours": hours}) if as_json else text)
