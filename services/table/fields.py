"""What requests may hold: every field is looked at before anything is done with it (L11, A2)."""

from typing import Final
from uuid import UUID

from diwan.api.event.v1 import table_pb2
from diwan.chassis.access import PLAYER_ID_CHARACTERS_MAX
from diwan.core.decider import Rejected
from diwan.core.hand.settings import HandSettings
from diwan.core.limits import STACK_MAX
from diwan.core.table.config import TableConfig
from diwan.wire.table import CHIPS_NAME, START_NAME
from services.table.frames import uuid_of

REASON_CHARACTERS_MAX: Final = 500
CASE_CHARACTERS_MAX: Final = 100
AMOUNT_MAX: Final = STACK_MAX - 1


def request_id(text: str) -> str:
    """Return a request id; raises FIELD_REQUIRED or REQUEST_ID_INVALID."""
    if not text:
        raise Rejected("FIELD_REQUIRED", field="request_id")
    parsed = uuid_of(text)
    if parsed is None or parsed.version != 4:
        raise Rejected("REQUEST_ID_INVALID")
    return text


def an_id(text: str, field: str) -> UUID:
    """Return an id; raises FIELD_REQUIRED or ID_INVALID."""
    if not text:
        raise Rejected("FIELD_REQUIRED", field=field)
    parsed = uuid_of(text)
    if parsed is None:
        raise Rejected("ID_INVALID", field=field)
    return parsed


def amount(number: int, field: str = "amount") -> int:
    """Return chips of 1 to 2^53-1; raises AMOUNT_INVALID."""
    if not 1 <= number <= AMOUNT_MAX:
        raise Rejected("AMOUNT_INVALID", field=field)
    return number


def page_size(number: int, most: int) -> int:
    """Return a page size, 50 for none; raises PAGE_SIZE_INVALID."""
    if not 0 <= number <= most:
        raise Rejected("PAGE_SIZE_INVALID", max=most)
    return number or 50


def player(text: str) -> str:
    """Return a player id, or nothing; raises FIELD_INVALID."""
    if len(text) > PLAYER_ID_CHARACTERS_MAX or not text.isprintable():
        raise Rejected("FIELD_INVALID", field="player", why="not a player id")
    return text


def short_text(text: str, field: str, most: int) -> str:
    """Return a text of a few words; raises FIELD_INVALID."""
    if len(text) > most or not text.isprintable():
        raise Rejected("FIELD_INVALID", field=field, why=f"at most {most} printable characters")
    return text.strip()


def config(message: table_pb2.TableConfig) -> TableConfig:
    """Return a table's settings with what was left out at its default; whether they make sense is the core's to say."""
    plain = TableConfig(name=message.name, hand=_hand(message))
    chips, start = message.chips, message.start
    if chips not in {0, *CHIPS_NAME} or start not in {0, *START_NAME}:
        raise Rejected("SETTING_INVALID", setting="chips" if chips not in {0, *CHIPS_NAME} else "start")
    return TableConfig(
        name=message.name,
        hand=_hand(message),
        seats=message.seats or plain.seats,
        buy_in_min=message.buy_in_min,
        buy_in_max=message.buy_in_max,
        pause_ms=message.pause_ms if message.HasField("pause_ms") else plain.pause_ms,
        reserve_seconds=message.reserve_seconds if message.HasField("reserve_seconds") else plain.reserve_seconds,
        sit_out_after=message.sit_out_after if message.HasField("sit_out_after") else plain.sit_out_after,
        return_minutes=message.return_minutes if message.HasField("return_minutes") else plain.return_minutes,
        bots_fill=message.bots_fill,
        chips=CHIPS_NAME[chips] if chips else plain.chips,
        start=START_NAME[start] if start else plain.start,
    )


def _hand(message: table_pb2.TableConfig) -> HandSettings:
    plain, given = HandSettings(), message.hand
    adds_up = given.short_allins_add_up if given.HasField("short_allins_add_up") else plain.short_allins_add_up
    game, limit, show = given.game or plain.game, given.limit or plain.limit, given.show_all_in or plain.show_all_in
    for setting, value, known in (
        ("game", game, ("holdem",)),
        ("limit", limit, ("no_limit", "pot_limit")),
        ("show_all_in", show, ("at_showdown", "at_once")),
    ):
        if value not in known:
            raise Rejected("SETTING_INVALID", setting=f"hand.{setting}", why=" or ".join(known))
    return HandSettings(
        game=game,  # type: ignore[arg-type]  # looked at above
        limit=limit,  # type: ignore[arg-type]
        small_blind=given.small_blind or plain.small_blind,
        big_blind=given.big_blind or plain.big_blind,
        short_allins_add_up=adds_up,
        show_all_in=show,  # type: ignore[arg-type]
        decision_seconds=given.decision_seconds or plain.decision_seconds,
    )
