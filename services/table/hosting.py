"""Private tables: what hosts, guests and operators ask, as asks of the table (TB-3)."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from google.protobuf.message import Message

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import hosting_pb2 as pb
from diwan.chassis.access import Role
from diwan.chassis.actors import Answer
from diwan.chassis.calls import Call
from diwan.chassis.ids import command_id_of
from diwan.chassis.pace import Pace
from diwan.chassis.paging import after_token, page_token
from diwan.core.decider import Rejected
from diwan.core.table.commands import TableCommand
from diwan.core.table.hosting.commands import (
    AnswerInvitation,
    ChangeSettings,
    HandOver,
    Invite,
    IssueJoinCode,
    JoinByCode,
    RemoveGuest,
    RevokeInvitation,
    RevokeJoinCode,
    SetPaused,
)
from diwan.wire.table import read_config
from services.table import fields
from services.table.actor import Actor
from services.table.asking import Reply, no_reply
from services.table.codes import Guesses, hash_of, new_code
from services.table.entry import let_in, viewer_of
from services.table.guests import ACCEPTED, PENDING
from services.table.index import Index, InvitationLine
from services.table.lobby import coming, conditions_for
from services.table.names import Names
from services.table.tables import Tables

VALID_SECONDS: Final = 24 * 3600
VALID_SECONDS_MAX: Final = 30 * 24 * 3600
INVITATIONS_A_PAGE_MAX: Final = 100
CODES_KEPT: Final = 10_000

OPENED_TIMES: Final = 5
"""So many times as many tables as a player may host may be open that it has opened, whoever hosts them by now."""

type HostRequest = (
    pb.InvitePlayerRequest
    | pb.RevokeInvitationRequest
    | pb.CreateJoinCodeRequest
    | pb.RevokeJoinCodeRequest
    | pb.RemoveGuestRequest
    | pb.SetPausedRequest
    | pb.ChangeSettingsRequest
    | pb.HandOverTableRequest
)


class Hosts:
    """Answers hosts and guests. All raise `Rejected`."""

    def __init__(
        self,
        tables: Tables,
        index: Index,
        names: Names,
        pace: Pace,
        guesses: Guesses,
        now_ms: Callable[[], int],
        *,
        hosted_max: int,
    ) -> None:
        self._tables = tables
        self._index = index
        self._names = names
        self._pace = pace
        self._now_ms = now_ms
        self._hosted_max = hosted_max
        self._guesses = guesses
        self._opening: Counter[str] = Counter()
        self._tables_by_code: OrderedDict[bytes, UUID] = OrderedDict()

    # ---- opening ----------------------------------------------------------------------------------------------------

    @contextmanager
    def opening(self, host: str, indexed: Mapping[UUID, bool], table_id: UUID) -> Iterator[None]:
        """Count a table that a player opens; raises TOO_MANY_TABLES_HOSTED.

        ``indexed`` are the player's tables as far as the index has come, each with whether it is the host now. Those that
        others host by now count too, up to a higher number, or two friends would open tables without end.
        """
        live = self._tables.live()
        here = {each.table_id for each in live}
        own = {each: is_host for each, is_host in indexed.items() if each not in here}
        for each in live:
            hosting = each.state.hosting
            if host in {hosting.host, hosting.first_host} and not each.state.is_closing:
                own[each.table_id] = hosting.host == host
        own.pop(table_id, None)
        opening = self._opening[host]
        if sum(own.values()) + opening >= self._hosted_max or len(own) + opening >= self._hosted_max * OPENED_TIMES:
            raise Rejected("TOO_MANY_TABLES_HOSTED", max=self._hosted_max)
        self._opening[host] += 1
        try:
            yield
        finally:
            self._opening[host] -= 1
            if not self._opening[host]:
                del self._opening[host]

    def paced(self, host: str) -> None:
        """Count a change of a player's; raises RATE_LIMITED."""
        self._pace.take(host)

    # ---- guests -----------------------------------------------------------------------------------------------------

    async def invite(self, request: pb.InvitePlayerRequest, call: Call) -> pb.InvitePlayerResponse:
        """Invite a player."""
        player = _named(request.player)
        valid_ms = _valid_ms(request.valid_seconds)

        def build(by: str, op: bool, now: int) -> Invite:
            return Invite(player, by, op, now + valid_ms, now)

        def reply(events: tuple[object, ...]) -> bytes:
            return pb.InvitePlayerResponse(expires_at_ms=events[0].expires_at_ms).SerializeToString()  # type: ignore[attr-defined]

        answer = await self._ask_as_host(request, call, build, reply)
        response = pb.InvitePlayerResponse.FromString(answer.reply)
        response.version = answer.first_version
        return response

    async def answer(self, request: pb.AnswerInvitationRequest, call: Call) -> pb.AnswerInvitationResponse:
        """Accept or decline an own invitation."""
        player = call.caller.acting_player(request.on_behalf_of)
        fields.request_id(request.request_id)
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))

        def build() -> AnswerInvitation:
            return AnswerInvitation(player, request.is_accepted, actor.clock.now_ms())

        answer = await self._ask(actor, request, request.request_id, call, player, build)
        return pb.AnswerInvitationResponse(version=answer.first_version)

    async def revoke(self, request: pb.RevokeInvitationRequest, call: Call) -> pb.RevokeInvitationResponse:
        """Take an invitation back."""
        player = _named(request.player)
        answer = await self._ask_as_host(request, call, lambda by, op, now: RevokeInvitation(player, by, op, now))
        return pb.RevokeInvitationResponse(version=answer.first_version)

    async def remove(self, request: pb.RemoveGuestRequest, call: Call) -> pb.RemoveGuestResponse:
        """Send a guest away."""
        player = _named(request.player)
        answer = await self._ask_as_host(request, call, lambda by, op, now: RemoveGuest(player, by, op, now))
        return pb.RemoveGuestResponse(version=answer.first_version)

    async def hand_over(self, request: pb.HandOverTableRequest, call: Call) -> pb.HandOverTableResponse:
        """Make a guest the host."""
        player = _named(request.player)
        answer = await self._ask_as_host(request, call, lambda by, op, now: HandOver(player, by, op, now))
        return pb.HandOverTableResponse(version=answer.first_version)

    async def invitations(self, request: pb.ListInvitationsRequest, call: Call) -> pb.ListInvitationsResponse:
        """Return own invitations, or those of a table for its host; newest first."""
        size = fields.page_size(request.page_size, INVITATIONS_A_PAGE_MAX)
        is_staff = call.caller.role is Role.OPERATOR
        player = "" if is_staff else call.caller.acting_player(request.on_behalf_of)
        table_id = fields.an_id(request.table_id, "table_id") if request.table_id else None
        if table_id is None and is_staff:
            raise Rejected("FIELD_REQUIRED", field="table_id")
        if table_id is not None:
            actor = await self._tables.get(table_id)
            if not is_staff and actor.state.hosting.host != player:
                raise Rejected("NOT_HOST")
        if request.status not in pb.InvitationStatus.values():
            raise Rejected("FIELD_INVALID", field="status", why="no such status")
        scope = f"invitations/{request.table_id}/{player}/{request.status}".encode()
        found = await self._index.invitations(
            table_id=table_id,
            player="" if table_id is not None else player,
            status=request.status,
            now_ms=self._now_ms(),
            after=after_token(request.page_token, scope),
            limit=size + 1,
        )
        response = pb.ListInvitationsResponse(
            invitations=[self._message(line, is_own=table_id is None) for line in found[:size]]
        )
        if len(found) > size:
            response.next_page_token = page_token(found[size - 1].sent_at_ms, found[size - 1].id, scope)
        return response

    def _message(self, line: InvitationLine, *, is_own: bool) -> pb.Invitation:
        message = pb.Invitation(
            table_id=str(line.table_id),
            player=line.player,
            invited_by=line.invited_by,
            status=line.status,  # type: ignore[arg-type]  # a number of the contract
            sent_at_ms=line.sent_at_ms,
            expires_at_ms=line.expires_at_ms,
        )
        if is_own and line.status not in {PENDING, ACCEPTED}:
            # What the table is like now is not for who is no guest of it.
            return message
        config = read_config(table_pb2.TableConfig.FromString(line.config))
        self._names.want(line.host)
        message.table_name, message.host = config.name, line.host
        message.host_name = self._names.get(line.host, "")
        message.conditions.CopyFrom(conditions_for(config))
        return message

    # ---- codes ------------------------------------------------------------------------------------------------------

    async def create_code(self, request: pb.CreateJoinCodeRequest, call: Call) -> pb.CreateJoinCodeResponse:
        """Let a new code count. It lies beside the answer to this request and nowhere else: in no event, on no bus."""
        valid_ms = _valid_ms(request.valid_seconds)
        code = new_code()
        code_hash = hash_of(code) or b""

        def build(by: str, op: bool, now: int) -> IssueJoinCode:
            return IssueJoinCode(code_hash, by, op, now + valid_ms, now)

        def reply(events: tuple[object, ...]) -> bytes:
            until: int = events[0].expires_at_ms  # type: ignore[attr-defined]
            return pb.CreateJoinCodeResponse(code=code, expires_at_ms=until).SerializeToString()

        answer = await self._ask_as_host(request, call, build, reply)
        response = pb.CreateJoinCodeResponse.FromString(answer.reply)
        response.version = answer.first_version
        return response

    async def revoke_code(self, request: pb.RevokeJoinCodeRequest, call: Call) -> pb.RevokeJoinCodeResponse:
        """Let the code count no more."""
        answer = await self._ask_as_host(request, call, RevokeJoinCode)
        return pb.RevokeJoinCodeResponse(version=answer.first_version)

    async def join(self, request: pb.JoinTableRequest, call: Call) -> pb.JoinTableResponse:
        """Become a guest by a code; whatever is wrong with it is INVITATION_REQUIRED, and counts as a guess."""
        player = call.caller.acting_player(request.on_behalf_of)
        fields.request_id(request.request_id)
        async with self._guesses.trying(player):
            try:
                return await self._joined(request, call, player)
            except Rejected as refusal:
                if refusal.reason in {"INVITATION_REQUIRED", "TABLE_NOT_FOUND"}:
                    # Counted before it is told, or who asks quickly would not be counted in time.
                    await self._guesses.was_wrong(player)
                    raise Rejected("INVITATION_REQUIRED") from None
                raise

    async def _joined(self, request: pb.JoinTableRequest, call: Call, player: str) -> pb.JoinTableResponse:
        code_hash = hash_of(request.code)
        table_id = None if code_hash is None else await self._table_of(code_hash)
        if code_hash is None or table_id is None:
            raise Rejected("INVITATION_REQUIRED")
        actor = await self._tables.get(table_id)

        def build() -> JoinByCode:
            return JoinByCode(player, code_hash, actor.clock.now_ms())

        def joined(_events: tuple[object, ...] = ()) -> bytes:
            return _joined_message(actor).SerializeToString()

        try:
            answer = await self._ask(actor, request, request.request_id, call, player, build, joined)
        except Rejected as refusal:
            # Who is a guest already has what was asked for.
            if refusal.reason != "GUEST_ALREADY":
                raise
            return _joined_message(actor)
        return pb.JoinTableResponse.FromString(answer.reply)

    async def _table_of(self, code_hash: bytes) -> UUID | None:
        """Return the table that a code is, or was, a code of: whether it counts still, the table says (H6)."""
        for actor in self._tables.live():
            code = actor.state.hosting.join_code
            if code is not None and code.code_hash == code_hash:
                self._remember_code(code_hash, actor.table_id)
                return actor.table_id
        return self._tables_by_code.get(code_hash) or await self._index.table_of_code(code_hash)

    def _remember_code(self, code_hash: bytes, table_id: UUID) -> None:
        """Know a code that was used here until the index does, also where it is revoked at once."""
        self._tables_by_code[code_hash] = table_id
        if len(self._tables_by_code) > CODES_KEPT:
            self._tables_by_code.popitem(last=False)

    # ---- the table --------------------------------------------------------------------------------------------------

    async def set_paused(self, request: pb.SetPausedRequest, call: Call) -> pb.SetPausedResponse:
        """Start no new hand, or go on."""
        answer = await self._ask_as_host(request, call, lambda by, op, now: SetPaused(request.is_paused, by, op, now))
        return pb.SetPausedResponse(version=answer.first_version)

    async def change_settings(self, request: pb.ChangeSettingsRequest, call: Call) -> pb.ChangeSettingsResponse:
        """Play by other settings from the next hand on."""
        config = fields.config(request.config)

        def reply(events: tuple[object, ...]) -> bytes:
            changed = events[0].config  # type: ignore[attr-defined]
            return pb.ChangeSettingsResponse(conditions=conditions_for(changed)).SerializeToString()

        answer = await self._ask_as_host(request, call, lambda by, op, now: ChangeSettings(config, by, op, now), reply)
        response = pb.ChangeSettingsResponse.FromString(answer.reply)
        response.version = answer.first_version
        return response

    # ---- asking -----------------------------------------------------------------------------------------------------

    async def _ask_as_host(
        self,
        request: HostRequest,
        call: Call,
        build: Callable[[str, bool, int], TableCommand],
        reply: Reply = no_reply,
    ) -> Answer:
        """Ask as the host, or as an operator in the host's place; strangers are not told more than that they are none."""
        is_operator = call.caller.role is Role.OPERATOR
        by = call.caller.subject if is_operator else call.caller.acting_player(request.on_behalf_of)
        fields.request_id(request.request_id)
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        viewer = viewer_of(call, "" if is_operator else request.on_behalf_of)

        def now() -> TableCommand:
            # Looked at here, where what took effect before never comes: its first answer is given again (H6).
            let_in(actor, viewer)
            return build(by, is_operator, actor.clock.now_ms())

        return await self._ask(actor, request, request.request_id, call, by, now, reply)

    async def _ask(
        self,
        actor: Actor,
        request: Message,
        request_id: str,
        call: Call,
        by: str,
        build: Callable[[], TableCommand],
        reply: Reply = no_reply,
    ) -> Answer:
        def paced(_state: object) -> TableCommand:
            # Counted here, where what took effect before never comes: a retry is free.
            if call.caller.role is not Role.OPERATOR:
                self._pace.take(by)
            return build()

        return await actor.ask(
            paced,
            command_id=command_id_of(call.caller.subject, request_id),
            caller=call.caller.subject,
            request_hash=call.request_hash(request),
            reply=reply,
            asker=by,
        )


def _joined_message(actor: Actor) -> pb.JoinTableResponse:
    """Return what a new guest is told: kept as the first answer, so that nobody sent away since is told news."""
    return pb.JoinTableResponse(table_id=str(actor.table_id), conditions=conditions_for(coming(actor.state)))


def _named(player: str) -> str:
    if not player:
        raise Rejected("FIELD_REQUIRED", field="player")
    return fields.player(player)


def _valid_ms(seconds: int) -> int:
    if not 0 <= seconds <= VALID_SECONDS_MAX:
        raise Rejected("FIELD_INVALID", field="valid_seconds", why="up to 30 days")
    return (seconds or VALID_SECONDS) * 1000
