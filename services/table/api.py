"""The servicer of the contract: looks at fields, finds the table, says the answer. What may happen the core decides."""

from collections.abc import AsyncGenerator

from diwan.api.table.v1 import exclusions_pb2, history_pb2, hosting_pb2, notices_pb2, replay_pb2, waiting_pb2
from diwan.api.table.v1 import table_service_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.pace import Pace
from services.table import fields
from services.table.creating import Creation
from services.table.entry import let_in, viewer_of
from services.table.exclusions import Exclusions
from services.table.hands import Hands
from services.table.hosting import Hosts
from services.table.lobby import Lobby, coming, conditions_for, view_of
from services.table.notices import NoticeBoard
from services.table.opening import Openings
from services.table.play import TableStreams, result_message
from services.table.replays import Replays
from services.table.seats import Seats
from services.table.tables import Tables


class TableServicer(TableStreams):
    """Answers for ``TableService``."""

    def __init__(
        self,
        tables: Tables,
        seats: Seats,
        openings: Openings,
        hands: Hands,
        lobby: Lobby,
        hosts: Hosts,
        creation: Creation,
        exclusions: Exclusions,
        board: NoticeBoard,
        pace: Pace,
        replays: Replays,
    ) -> None:
        super().__init__(tables, pace)
        self._seats = seats
        self._openings = openings
        self._hands = hands
        self._lobby = lobby
        self._hosts = hosts
        self._creation = creation
        self._exclusions = exclusions
        self._board = board
        self._replays = replays

    # ---- tables -----------------------------------------------------------------------------------------------------

    async def CreateTable(self, request: pb.CreateTableRequest, call: Call) -> pb.CreateTableResponse:
        """Open a table."""
        actor = await self._creation.create(request, call)
        return pb.CreateTableResponse(table=view_of(actor, None), conditions=conditions_for(coming(actor.state)))

    async def GetTable(self, request: pb.GetTableRequest, call: Call) -> pb.GetTableResponse:
        """Return a table as everybody at it sees it."""
        viewer = viewer_of(call, request.on_behalf_of)
        actor = await self._tables.get(fields.an_id(request.table_id, "table_id"))
        let_in(actor, viewer)
        return pb.GetTableResponse(
            table=view_of(actor, viewer.player),
            conditions=conditions_for(coming(actor.state)),
            presence=actor.who_is_there(),
        )

    async def ListTables(self, request: pb.ListTablesRequest, call: Call) -> pb.ListTablesResponse:
        """Return open tables, newest first."""
        return await self._lobby.listed(request, call)

    async def CloseTable(self, request: pb.CloseTableRequest, call: Call) -> pb.CloseTableResponse:
        """End a table after the running hand."""
        answer = await self._seats.close_table(request, call)
        return pb.CloseTableResponse(result=result_message(request.request_id, answer))

    # ---- seats ------------------------------------------------------------------------------------------------------

    async def SitDown(self, request: pb.SitDownRequest, call: Call) -> pb.SitDownResponse:
        """Take a seat; answered when the wallet has answered."""
        answer, seat = await self._seats.sit_down(request, call)
        return pb.SitDownResponse(result=result_message(request.request_id, answer), seat=seat)

    async def TopUp(self, request: pb.TopUpRequest, call: Call) -> pb.TopUpResponse:
        """Bring more chips."""
        answer = await self._seats.top_up(request, call)
        return pb.TopUpResponse(result=result_message(request.request_id, answer))

    async def SetSittingOut(self, request: pb.SetSittingOutRequest, call: Call) -> pb.SetSittingOutResponse:
        """Sit out, or come back."""
        answer = await self._seats.set_sitting_out(request, call)
        return pb.SetSittingOutResponse(result=result_message(request.request_id, answer))

    async def StandUp(self, request: pb.StandUpRequest, call: Call) -> pb.StandUpResponse:
        """Leave."""
        answer = await self._seats.stand_up(request, call)
        return pb.StandUpResponse(result=result_message(request.request_id, answer))

    async def WaitForSeat(self, request: waiting_pb2.WaitForSeatRequest, call: Call) -> waiting_pb2.WaitForSeatResponse:
        """Stand in line for a seat."""
        return await self._seats.wait_for_seat(request, call)

    async def StopWaiting(self, request: waiting_pb2.StopWaitingRequest, call: Call) -> waiting_pb2.StopWaitingResponse:
        """Stand in line no more."""
        return await self._seats.stop_waiting(request, call)

    async def Act(self, request: pb.ActRequest, call: Call) -> pb.ActResponse:
        """Decide."""
        answer = await self._seats.act(request, call)
        return pb.ActResponse(result=result_message(request.request_id, answer))

    async def UsePower(self, request: pb.UsePowerRequest, call: Call) -> pb.UsePowerResponse:
        """Use a power of Naiko."""
        answer = await self._seats.use_power(request, call)
        return pb.UsePowerResponse(result=result_message(request.request_id, answer))

    async def AnswerAnchor(self, request: pb.AnswerAnchorRequest, call: Call) -> pb.AnswerAnchorResponse:
        """Answer a Short Anchor."""
        answer = await self._seats.answer_anchor(request, call)
        return pb.AnswerAnchorResponse(result=result_message(request.request_id, answer))

    async def ActCapsa(self, request: pb.ActCapsaRequest, call: Call) -> pb.ActCapsaResponse:
        """Decide in a hand of Capsa."""
        answer = await self._seats.act_capsa(request, call)
        return pb.ActCapsaResponse(result=result_message(request.request_id, answer))

    async def SetPairStake(self, request: pb.SetPairStakeRequest, call: Call) -> pb.SetPairStakeResponse:
        """Offer, accept or end a stake of a pair's own."""
        answer = await self._seats.set_pair_stake(request, call)
        return pb.SetPairStakeResponse(result=result_message(request.request_id, answer))

    # ---- looking back -----------------------------------------------------------------------------------------------

    async def OpenHand(self, request: pb.OpenHandRequest, call: Call) -> pb.OpenHandResponse:
        """Show cards that no event shows, to whom they are for."""
        place = await self._hands.place(fields.an_id(request.hand_id, "hand_id"))
        return await self._openings.open_hand(request, call, place)

    async def GetHand(self, request: pb.GetHandRequest, call: Call) -> pb.GetHandResponse:
        """Return a hand's events as stored, with what lay between them."""
        return await self._hands.events(request, call)

    async def ListHands(self, request: pb.ListHandsRequest, call: Call) -> pb.ListHandsResponse:
        """Return hands, newest first; a player's own, or any for staff and services."""
        return await self._hands.listed(request, call)

    async def ListMyHands(self, request: history_pb2.ListMyHandsRequest, call: Call) -> history_pb2.ListMyHandsResponse:
        """Return a player's own hands, newest first."""
        return await self._hands.own(request, call)

    async def GetMyHand(self, request: history_pb2.GetMyHandRequest, call: Call) -> history_pb2.GetMyHandResponse:
        """Tell a player's own hand step by step, as the seat saw it."""
        return await self._hands.told(request, call)

    async def GetReplay(self, request: replay_pb2.GetReplayRequest, call: Call) -> replay_pb2.GetReplayResponse:
        """Return a hand as somebody could have seen it, moment by moment."""
        return await self._replays.answer(request, call)

    # ---- private tables ---------------------------------------------------------------------------------------------

    async def InvitePlayer(
        self, request: hosting_pb2.InvitePlayerRequest, call: Call
    ) -> hosting_pb2.InvitePlayerResponse:
        """Invite a player."""
        return await self._hosts.invite(request, call)

    async def AnswerInvitation(
        self, request: hosting_pb2.AnswerInvitationRequest, call: Call
    ) -> hosting_pb2.AnswerInvitationResponse:
        """Accept or decline an own invitation."""
        return await self._hosts.answer(request, call)

    async def RevokeInvitation(
        self, request: hosting_pb2.RevokeInvitationRequest, call: Call
    ) -> hosting_pb2.RevokeInvitationResponse:
        """Take an invitation back."""
        return await self._hosts.revoke(request, call)

    async def ListInvitations(
        self, request: hosting_pb2.ListInvitationsRequest, call: Call
    ) -> hosting_pb2.ListInvitationsResponse:
        """Return invitations, newest first."""
        return await self._hosts.invitations(request, call)

    async def CreateJoinCode(
        self, request: hosting_pb2.CreateJoinCodeRequest, call: Call
    ) -> hosting_pb2.CreateJoinCodeResponse:
        """Let a new join code count."""
        return await self._hosts.create_code(request, call)

    async def RevokeJoinCode(
        self, request: hosting_pb2.RevokeJoinCodeRequest, call: Call
    ) -> hosting_pb2.RevokeJoinCodeResponse:
        """Let the join code count no more."""
        return await self._hosts.revoke_code(request, call)

    async def JoinTable(self, request: hosting_pb2.JoinTableRequest, call: Call) -> hosting_pb2.JoinTableResponse:
        """Become a guest by a join code."""
        return await self._hosts.join(request, call)

    async def RemoveGuest(self, request: hosting_pb2.RemoveGuestRequest, call: Call) -> hosting_pb2.RemoveGuestResponse:
        """Send a guest away."""
        return await self._hosts.remove(request, call)

    async def SetPaused(self, request: hosting_pb2.SetPausedRequest, call: Call) -> hosting_pb2.SetPausedResponse:
        """Start no new hand, or go on."""
        return await self._hosts.set_paused(request, call)

    async def ChangeSettings(
        self, request: hosting_pb2.ChangeSettingsRequest, call: Call
    ) -> hosting_pb2.ChangeSettingsResponse:
        """Play by other settings from the next hand on."""
        return await self._hosts.change_settings(request, call)

    async def HandOverTable(
        self, request: hosting_pb2.HandOverTableRequest, call: Call
    ) -> hosting_pb2.HandOverTableResponse:
        """Make a guest the host."""
        return await self._hosts.hand_over(request, call)

    # ---- who may not sit --------------------------------------------------------------------------------------------

    async def SetExclusion(
        self, request: exclusions_pb2.SetExclusionRequest, call: Call
    ) -> exclusions_pb2.SetExclusionResponse:
        """Keep a player from all tables, or a pair apart."""
        return await self._exclusions.set(request, call)

    async def LiftExclusion(
        self, request: exclusions_pb2.LiftExclusionRequest, call: Call
    ) -> exclusions_pb2.LiftExclusionResponse:
        """Lift an exclusion."""
        return await self._exclusions.lift(request, call)

    async def ListExclusions(
        self, request: exclusions_pb2.ListExclusionsRequest, _call: Call
    ) -> exclusions_pb2.ListExclusionsResponse:
        """Return exclusions, newest first."""
        return await self._exclusions.listed(request)

    # ---- for phones -------------------------------------------------------------------------------------------------

    async def WatchNotices(
        self, request: notices_pb2.WatchNoticesRequest, call: Call
    ) -> AsyncGenerator[notices_pb2.WatchNoticesResponse, None]:
        """Tell what is to be pushed to phones, from a cursor on."""
        async for message in self._board.watch(request, call):
            yield message
