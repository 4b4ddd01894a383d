"""``diwan looks``: who looked at hidden cards, when and why."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from diwan.chassis.access import Role
from diwan.cli.find import when
from diwan.cli.running import DEFAULT_DATA, DataOption, as_role, first
from diwan.client import DiwanClient
from diwan.client.others import Look


def looks(
    hand: Annotated[str, typer.Argument(help="At this hand; left out, at any.")] = "",
    by: Annotated[str, typer.Option(help="By this person.")] = "",
    own: Annotated[bool, typer.Option("--own", help="Also players' looks back at their own seats.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, an object a line.")] = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Tell who looked at a hand's hidden cards, when and why, newest first. For auditors: nobody at a table is told."""

    async def work(client: DiwanClient) -> list[Look]:
        page_size = min(limit, 500)
        return await first(limit, client.audit.looks(hand_id=hand, opened_by=by, includes_own=own, page_size=page_size))

    found = as_role(data, "looks", work, Role.AUDITOR)
    for look in found:
        print(json.dumps(as_builtins(look), ensure_ascii=False) if as_json else line(look))
    if not found and not as_json:
        print("Nobody looked.")


def as_builtins(look: Look) -> dict[str, Any]:
    """Return a look as JSON has it."""
    return {
        "hand": look.hand_id,
        "table": look.table_id,
        "version": look.version,
        "global_seq": look.global_seq,
        "at": when(look.opened_at_ms),
        "by": look.opened_by,
        "role": look.role,
        "lens": look.lens,
        "own": look.is_own,
        "reason": look.reason or None,
        "case": look.case_id or None,
    }


def line(look: Look) -> str:
    """Return a look as a line for people."""
    case = f" (case {look.case_id})" if look.case_id else ""
    why = "the own seat" if look.is_own and not look.reason else f"{look.reason}{case}"
    return f"{when(look.opened_at_ms)} UTC  {look.hand_id}  {look.lens:<7}  {look.opened_by} as {look.role}: {why}"
