"""Private tables as their hosts and guests use them."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

from diwan.api.event.v1 import table_pb2
from diwan.api.table.v1 import hosting_pb2 as pb
from diwan.api.table.v1 import lobby_pb2
from diwan.api.table.v1.table_service_pb2_grpc import TableServiceStub
from diwan.client.connection import Connection


class PrivateTables:
    """Guests, codes, and what a host may do. ``host`` and ``player`` are for a back end: who it acts for.

    All raise `DiwanError`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = TableServiceStub(connection.channel)

    async def invite(
        self, table_id: str, player: str, *, valid_seconds: int = 0, host: str = "", request_id: str | None = None
    ) -> pb.InvitePlayerResponse:
        """Invite a player; 0 seconds for a day."""
        request = pb.InvitePlayerRequest(
            request_id=request_id or str(uuid4()),
            table_id=table_id,
            player=player,
            valid_seconds=valid_seconds,
            on_behalf_of=host,
        )
        return await self._connection.unary(self._stub.InvitePlayer, request)

    async def answer(
        self, table_id: str, *, is_accepted: bool, player: str = "", request_id: str | None = None
    ) -> pb.AnswerInvitationResponse:
        """Accept or decline an own invitation."""
        request = pb.AnswerInvitationRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, is_accepted=is_accepted, on_behalf_of=player
        )
        return await self._connection.unary(self._stub.AnswerInvitation, request)

    async def revoke(
        self, table_id: str, player: str, *, host: str = "", request_id: str | None = None
    ) -> pb.RevokeInvitationResponse:
        """Take an invitation back."""
        request = pb.RevokeInvitationRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, player=player, on_behalf_of=host
        )
        return await self._connection.unary(self._stub.RevokeInvitation, request)

    async def invitations(
        self,
        *,
        table_id: str = "",
        status: pb.InvitationStatus.ValueType = pb.INVITATION_STATUS_UNSPECIFIED,
        player: str = "",
        page_size: int = 100,
    ) -> AsyncIterator[pb.Invitation]:
        """Iterate over own invitations, or those of a table that one hosts, newest first."""
        request = pb.ListInvitationsRequest(table_id=table_id, status=status, page_size=page_size, on_behalf_of=player)
        async for page in self._connection.pages(self._stub.ListInvitations, request):
            for invitation in page.invitations:
                yield invitation

    async def create_code(
        self, table_id: str, *, valid_seconds: int = 0, host: str = "", request_id: str | None = None
    ) -> pb.CreateJoinCodeResponse:
        """Let a new join code count; 0 seconds for a day. The one before counts no more."""
        request = pb.CreateJoinCodeRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, valid_seconds=valid_seconds, on_behalf_of=host
        )
        return await self._connection.unary(self._stub.CreateJoinCode, request)

    async def revoke_code(
        self, table_id: str, *, host: str = "", request_id: str | None = None
    ) -> pb.RevokeJoinCodeResponse:
        """Let the join code count no more."""
        request = pb.RevokeJoinCodeRequest(request_id=request_id or str(uuid4()), table_id=table_id, on_behalf_of=host)
        return await self._connection.unary(self._stub.RevokeJoinCode, request)

    async def join(self, code: str, *, player: str = "", request_id: str | None = None) -> pb.JoinTableResponse:
        """Become a guest of the table whose code this is."""
        request = pb.JoinTableRequest(request_id=request_id or str(uuid4()), code=code, on_behalf_of=player)
        return await self._connection.unary(self._stub.JoinTable, request)

    async def remove_guest(
        self, table_id: str, player: str, *, host: str = "", request_id: str | None = None
    ) -> pb.RemoveGuestResponse:
        """Send a guest away, after the hand where one is played."""
        request = pb.RemoveGuestRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, player=player, on_behalf_of=host
        )
        return await self._connection.unary(self._stub.RemoveGuest, request)

    async def set_paused(
        self, table_id: str, *, is_paused: bool, host: str = "", request_id: str | None = None
    ) -> pb.SetPausedResponse:
        """Start no new hand, or go on."""
        request = pb.SetPausedRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, is_paused=is_paused, on_behalf_of=host
        )
        return await self._connection.unary(self._stub.SetPaused, request)

    async def change_settings(
        self,
        table_id: str,
        config: table_pb2.TableConfig | Mapping[str, Any],
        *,
        host: str = "",
        request_id: str | None = None,
    ) -> lobby_pb2.TableConditions:
        """Play by other settings from the next hand on; ``config`` holds all of them."""
        wanted = config if isinstance(config, table_pb2.TableConfig) else table_pb2.TableConfig(**config)
        request = pb.ChangeSettingsRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, config=wanted, on_behalf_of=host
        )
        return (await self._connection.unary(self._stub.ChangeSettings, request)).conditions

    async def hand_over(
        self, table_id: str, player: str, *, host: str = "", request_id: str | None = None
    ) -> pb.HandOverTableResponse:
        """Make a guest the host."""
        request = pb.HandOverTableRequest(
            request_id=request_id or str(uuid4()), table_id=table_id, player=player, on_behalf_of=host
        )
        return await self._connection.unary(self._stub.HandOverTable, request)
