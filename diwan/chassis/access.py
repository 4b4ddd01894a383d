"""Who may call what: roles, the callers that tokens name, and the rule that stands beside every method.

A method whose contract says nothing about access stops the server from starting (A1).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from diwan.api.options.v1 import access_pb2
from diwan.core.decider import Rejected

PLAYER_ID_CHARACTERS_MAX: Final = 128

BOT_PREFIX: Final = "bot:"
"""How every bot's id begins, and no person's: so no token of the one is ever good for the other's seat (S3)."""


class Role(StrEnum):
    """What a caller is."""

    PLAYER = "player"
    BACKEND = "backend"
    BOT = "bot"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    SERVICE = "service"


_ROLES: Final = {
    access_pb2.ROLE_PLAYER: Role.PLAYER,
    access_pb2.ROLE_BACKEND: Role.BACKEND,
    access_pb2.ROLE_BOT: Role.BOT,
    access_pb2.ROLE_OPERATOR: Role.OPERATOR,
    access_pb2.ROLE_AUDITOR: Role.AUDITOR,
    access_pb2.ROLE_SERVICE: Role.SERVICE,
}


class AccessRuleMissing(Exception):  # noqa: N818  (read as a sentence: the server does not start)
    """A method's contract does not say who may call it."""


class Rule(msgspec.Struct, frozen=True):
    """Who may call a method."""

    roles: frozenset[Role]
    is_public: bool = False


class Caller(msgspec.Struct, frozen=True):
    """Who calls, as the token says. ``players`` is the id prefix of a back end's own players; empty for any."""

    subject: str
    role: Role
    token_id: str = ""
    expires_at_ms: int = 0
    players: str = ""

    def acting_player(self, on_behalf_of: str) -> str:
        """Return the player that a call of a seat's holder is about.

        Players and bots act for themselves alone; a back end names one of its players, never a bot. Raises `Rejected` with
        ON_BEHALF_OF_REQUIRED, ON_BEHALF_OF_NOT_ALLOWED or FIELD_INVALID.
        """
        if self.role in {Role.PLAYER, Role.BOT}:
            if on_behalf_of not in {"", self.subject}:
                raise Rejected("ON_BEHALF_OF_NOT_ALLOWED")
            return self.subject
        if not on_behalf_of:
            raise Rejected("ON_BEHALF_OF_REQUIRED")
        if len(on_behalf_of) > PLAYER_ID_CHARACTERS_MAX or not on_behalf_of.isprintable():
            raise Rejected("FIELD_INVALID", field="on_behalf_of", why="not a player id")
        is_another_s = not on_behalf_of.startswith(self.players) or on_behalf_of.startswith(BOT_PREFIX)
        if self.role is Role.BACKEND and is_another_s:
            raise Rejected("ON_BEHALF_OF_NOT_ALLOWED")
        return on_behalf_of

    def seat_holder(self, on_behalf_of: str) -> str:
        """Return the player whose seat, and so whose hidden cards, a call is about.

        As `acting_player`, but nobody of the house looks into a seat by naming its player (P10, S4): raises `Rejected`
        with ON_BEHALF_OF_NOT_ALLOWED for every role that holds no seats.
        """
        if self.role not in {Role.PLAYER, Role.BOT, Role.BACKEND}:
            raise Rejected("ON_BEHALF_OF_NOT_ALLOWED")
        return self.acting_player(on_behalf_of)


def rule_of(method: MethodDescriptor) -> Rule:
    """Return a method's rule; raises `AccessRuleMissing` where the contract has none, or an empty one."""
    options = method.GetOptions()
    if not options.HasExtension(access_pb2.access):
        raise AccessRuleMissing(f"{method.full_name} does not say who may call it")
    said = options.Extensions[access_pb2.access]
    unknown = [number for number in said.roles if number not in _ROLES]
    if unknown or bool(said.roles) == said.public:
        raise AccessRuleMissing(f"{method.full_name} must name roles, or be public, and nothing else")
    return Rule(frozenset(_ROLES[number] for number in said.roles), said.public)


def sweep(services: Iterable[ServiceDescriptor]) -> dict[str, Rule]:
    """Return the rules of all methods by full gRPC name; raises `AccessRuleMissing` naming the first without one."""
    return {
        f"/{service.full_name}/{method.name}": rule_of(method) for service in services for method in service.methods
    }


def permit(rule: Rule, caller: Caller | None) -> None:
    """Raise `Rejected` with UNAUTHENTICATED or PERMISSION_DENIED unless the caller may call."""
    if rule.is_public:
        return
    if caller is None:
        raise Rejected("UNAUTHENTICATED")
    if caller.role not in rule.roles:
        raise Rejected("PERMISSION_DENIED", role=caller.role)
