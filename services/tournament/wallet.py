"""The wallet as tournaments ask it: one transfer a payment, under an id that follows from the tournament (L3, L5)."""

from __future__ import annotations

from uuid import UUID, uuid5

from diwan.chassis.errors import FINAL_CODES
from diwan.client import AccountName, DiwanError
from diwan.client.wallet import Wallet
from diwan.core.tournament.events import Party
from diwan.core.tournament.orders import Pay


class Unanswered(Exception):  # noqa: N818  (not an error: the answer is not known yet)
    """Nobody answered, or nothing that is final: what was asked for may have been done or not."""


def transfer_id_of(tournament_id: UUID, order: Pay) -> str:
    """Return the id of the transfer that a payment asks for."""
    return str(uuid5(tournament_id, order.name))


class Payments:
    """Asks the wallet for payments."""

    def __init__(self, wallet: Wallet) -> None:
        self._wallet = wallet

    async def pay(self, tournament_id: UUID, order: Pay) -> str:
        """Ask for a payment; returns "" where it stands, else the wallet's reason. Raises `Unanswered`."""
        payment = order.payment
        try:
            await self._wallet.transfer(
                _account(payment.giver, payment.player, tournament_id),
                _account(payment.taker, payment.player, tournament_id),
                payment.amount,
                code=payment.code,
                cause=f"tournament/{tournament_id}/{payment.key}"[:200],
                transfer_id=transfer_id_of(tournament_id, order),
            )
        except DiwanError as error:
            if not error.is_from_server or error.code not in FINAL_CODES:
                raise Unanswered(str(error)) from None
            # A refused id stays refused: what it was refused for first is the reason.
            return error.metadata.get("first_reason", "").upper() or error.reason
        return ""


def _account(party: Party, player: str, tournament_id: UUID) -> AccountName:
    match party:
        case "player":
            return AccountName("player", player)
        case "pool":
            return AccountName("pool", str(tournament_id))
        case "bots" | "house":
            return AccountName(party)
