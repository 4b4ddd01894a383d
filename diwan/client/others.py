"""The other services: audit, bots, and every service's feed. All methods raise `DiwanError`."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from diwan.api.audit.v1 import audit_service_pb2, looks_pb2, record_pb2, register_pb2
from diwan.api.audit.v1.audit_service_pb2_grpc import AuditServiceStub
from diwan.api.bots.v1 import bots_service_pb2
from diwan.api.bots.v1.bots_service_pb2_grpc import BotsServiceStub
from diwan.api.feed.v1 import feed_service_pb2
from diwan.api.feed.v1.feed_service_pb2_grpc import FeedServiceStub
from diwan.client.connection import Connection

type HandRecord = record_pb2.GetHandRecordResponse
"""A hand's stored events and the wallet's for it, each with its number in its feed."""
type RecordedEvent = record_pb2.RecordedEvent
"""A stored event with its number in its feed."""
type HandFilter = audit_service_pb2.HandFilter
type FoundHand = audit_service_pb2.FoundHand
"""A hand as the audit's index has it."""
type Look = looks_pb2.Look
"""A look at hidden cards."""


class Audit:
    """The independent audit."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = AuditServiceStub(connection.channel)

    async def get_status(self) -> audit_service_pb2.GetStatusResponse:
        """Return how far the audit is."""
        return await self._connection.unary(self._stub.GetStatus, audit_service_pb2.GetStatusRequest())

    async def findings(self, *, page_size: int = 100) -> AsyncIterator[audit_service_pb2.Finding]:
        """Iterate over what does not hold, oldest first."""
        request = audit_service_pb2.ListFindingsRequest(page_size=page_size)
        async for page in self._connection.pages(self._stub.ListFindings, request):
            for finding in page.findings:
                yield finding

    async def get_hand_verdict(self, hand_id: str) -> audit_service_pb2.GetHandVerdictResponse:
        """Return what was found about a hand."""
        request = audit_service_pb2.GetHandVerdictRequest(hand_id=hand_id)
        return await self._connection.unary(self._stub.GetHandVerdict, request)

    async def hand_record(self, hand_id: str, *, player: str = "") -> HandRecord:
        """Return all that the audit keeps of a hand that has ended, for a bundle."""
        request = record_pb2.GetHandRecordRequest(hand_id=hand_id, on_behalf_of=player)
        return await self._connection.unary(self._stub.GetHandRecord, request)

    async def tournament_record(self, tournament_id: str, *, page_size: int = 500) -> AsyncIterator[RecordedEvent]:
        """Iterate over a tournament's stored events, each with its number in its feed."""
        request = record_pb2.GetTournamentRecordRequest(tournament_id=tournament_id, page_size=page_size)
        while True:
            page = await self._connection.unary(self._stub.GetTournamentRecord, request)
            for event in page.events:
                yield event
            if not page.has_more:
                return
            request.after_version = page.events[-1].event.version

    async def table_record(self, table_id: str, *, page_size: int = 500) -> AsyncIterator[RecordedEvent]:
        """Iterate over a table's stored events up to its newest ended hand, each with its number in its feed."""
        request = record_pb2.GetTableRecordRequest(table_id=table_id, page_size=page_size)
        while True:
            page = await self._connection.unary(self._stub.GetTableRecord, request)
            for event in page.events:
                yield event
            if not page.has_more:
                return
            request.after_version = page.events[-1].event.version

    async def find_page(
        self, sought: HandFilter | Mapping[str, Any], *, page_size: int = 100, page_token: str = ""
    ) -> audit_service_pb2.FindHandsResponse:
        """Return a page of hands that fit, newest first; ``sought`` has the fields of HandFilter."""
        wanted = sought if isinstance(sought, audit_service_pb2.HandFilter) else audit_service_pb2.HandFilter(**sought)
        request = audit_service_pb2.FindHandsRequest(filter=wanted, page_size=page_size, page_token=page_token)
        return await self._connection.unary(self._stub.FindHands, request)

    async def find_hands(
        self, sought: HandFilter | Mapping[str, Any], *, page_size: int = 100
    ) -> AsyncIterator[FoundHand]:
        """Iterate over hands that fit, newest first; ``sought`` has the fields of HandFilter."""
        token = ""
        while True:
            page = await self.find_page(sought, page_size=page_size, page_token=token)
            for hand in page.hands:
                yield hand
            if not (token := page.next_page_token):
                return

    async def looks(
        self, *, hand_id: str = "", opened_by: str = "", includes_own: bool = False, page_size: int = 100
    ) -> AsyncIterator[Look]:
        """Iterate over looks at hidden cards, newest first: auditors over all, operators over their own."""
        request = looks_pb2.ListLooksRequest(
            hand_id=hand_id, opened_by=opened_by, includes_own=includes_own, page_size=page_size
        )
        while True:
            page = await self._connection.unary(self._stub.ListLooks, request)
            for look in page.looks:
                yield look
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def checkpoint(self, feed_id: int, size: int = 0, *, proved: bool = True) -> register_pb2.Checkpoint:
        """Return the register's checkpoint of a size; 0 is the newest, ``proved`` the newest that witnesses signed."""
        request = register_pb2.GetCheckpointRequest(feed_id=feed_id, size=size, proved=proved)
        return (await self._connection.unary(self._stub.GetCheckpoint, request)).checkpoint

    async def checkpoints(self, feed_id: int, *, page_size: int = 100) -> AsyncIterator[register_pb2.Checkpoint]:
        """Iterate over the checkpoints of a feed's log, newest first."""
        request = register_pb2.ListCheckpointsRequest(feed_id=feed_id, page_size=page_size)
        async for page in self._connection.pages(self._stub.ListCheckpoints, request):
            for checkpoint in page.checkpoints:
                yield checkpoint

    async def inclusion_proof(
        self, feed_id: int, global_seqs: Iterable[int], size: int = 0
    ) -> register_pb2.GetInclusionProofResponse:
        """Return proofs that events are in the register; 0 is the size of the newest proved checkpoint."""
        request = register_pb2.GetInclusionProofRequest(feed_id=feed_id, global_seqs=global_seqs, size=size)
        return await self._connection.unary(self._stub.GetInclusionProof, request)

    async def consistency_proof(
        self, feed_id: int, old_size: int, size: int = 0
    ) -> register_pb2.GetConsistencyProofResponse:
        """Return the proof that a log only grew from one size to another; 0 is the newest checkpoint's."""
        request = register_pb2.GetConsistencyProofRequest(feed_id=feed_id, old_size=old_size, size=size)
        return await self._connection.unary(self._stub.GetConsistencyProof, request)

    async def register_policy(self) -> str:
        """Return whom the house says to trust (C2SP tlog-policy)."""
        request = register_pb2.GetRegisterPolicyRequest()
        return (await self._connection.unary(self._stub.GetRegisterPolicy, request)).policy


class Bots:
    """The bots."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = BotsServiceStub(connection.channel)

    async def get_status(self) -> bots_service_pb2.GetStatusResponse:
        """Return what the bots do."""
        return await self._connection.unary(self._stub.GetStatus, bots_service_pb2.GetStatusRequest())


class Feed:
    """The feed of one service: its events in one gap-free order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = FeedServiceStub(connection.channel)

    async def read(self, after: int, *, limit: int = 500) -> feed_service_pb2.ReadResponse:
        """Return events after a number, in order, without gap."""
        request = feed_service_pb2.ReadRequest(after=after, limit=limit)
        return await self._connection.unary(self._stub.Read, request)

    async def events(self, after: int = 0) -> AsyncIterator[feed_service_pb2.FeedEvent]:
        """Iterate over every event from a number up to the head of now."""
        while (page := await self.read(after)).events:
            for event in page.events:
                yield event
            after = page.events[-1].global_seq
