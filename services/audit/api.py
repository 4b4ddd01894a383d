"""Answers for the audit over gRPC."""

from __future__ import annotations

import re

from diwan.api.audit.v1 import audit_service_pb2 as pb
from diwan.api.audit.v1 import looks_pb2, record_pb2
from diwan.chassis.bus import FEEDS
from diwan.chassis.calls import Call
from diwan.chassis.database import Database
from diwan.core.decider import Rejected
from services.audit.looks import looks_in, sought_by
from services.audit.projections import NumberedFinding, findings_in, status_in, verdict_in
from services.audit.records import record_for, record_in, table_in, tournament_in
from services.audit.register import Register
from services.audit.register_api import RegisterServicer
from services.audit.search.messages import page_message, sought_of
from services.audit.search.questions import find_in

_is_hand_id = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_SERVICES = {feed_id: service for service, feed_id in FEEDS.items()}


class AuditServicer(RegisterServicer):
    """How far the audit is, what does not hold, what it thinks of a hand, and the register."""

    def __init__(self, database: Database, register: Register) -> None:
        super().__init__(database, register)

    async def GetStatus(self, request: pb.GetStatusRequest, call: Call) -> pb.GetStatusResponse:
        status = await self._database.run(status_in)
        feeds = [
            pb.FeedStatus(
                feed_id=feed.feed_id, service=_SERVICES.get(feed.feed_id, ""), cursor=feed.cursor, root=feed.root
            )
            for feed in status.feeds
        ]
        return pb.GetStatusResponse(
            feeds=feeds,
            hands_verified=status.hands_verified,
            hands_not_verified=status.hands_not_verified,
            hands_cannot_say=status.hands_cannot_say,
            tournaments_verified=status.tournaments_verified,
            tournaments_not_verified=status.tournaments_not_verified,
            findings=status.findings,
        )

    async def ListFindings(self, request: pb.ListFindingsRequest, call: Call) -> pb.ListFindingsResponse:
        page = await self._database.run(lambda c: findings_in(c, request.page_size, request.page_token))
        return pb.ListFindingsResponse(findings=map(_message, page.findings), next_page_token=page.next_token)

    async def GetHandVerdict(self, request: pb.GetHandVerdictRequest, call: Call) -> pb.GetHandVerdictResponse:
        if not _is_hand_id(request.hand_id):
            raise Rejected("ID_INVALID", field="hand_id")
        found = await self._database.run(lambda c: verdict_in(c, request.hand_id))
        if found is None:
            raise Rejected("HAND_NOT_FOUND", hand_id=request.hand_id)
        if not found.verdict:
            return pb.GetHandVerdictResponse(verdict=pb.VERDICT_CANNOT_SAY, detail="it has not been looked at yet")
        return pb.GetHandVerdictResponse(
            verdict=pb.Verdict.ValueType(found.verdict),
            detail=found.detail,
            acts=found.acts,
            reveals=found.reveals,
        )

    async def FindHands(self, request: pb.FindHandsRequest, call: Call) -> pb.FindHandsResponse:
        sought = sought_of(request.filter)
        return page_message(
            await self._database.run(lambda c: find_in(c, sought, request.page_size, request.page_token))
        )

    async def ListLooks(self, request: looks_pb2.ListLooksRequest, call: Call) -> looks_pb2.ListLooksResponse:
        sought = sought_by(request, call.caller)
        return await self._database.run(lambda c: looks_in(c, sought, request.page_size, request.page_token))

    async def GetHandRecord(
        self, request: record_pb2.GetHandRecordRequest, call: Call
    ) -> record_pb2.GetHandRecordResponse:
        if not _is_hand_id(request.hand_id):
            raise Rejected("ID_INVALID", field="hand_id")
        record = await self._database.run(lambda c: record_in(c, request.hand_id))
        return record_for(record, call.caller, request.on_behalf_of)

    async def GetTournamentRecord(
        self, request: record_pb2.GetTournamentRecordRequest, call: Call
    ) -> record_pb2.GetTournamentRecordResponse:
        return await self._database.run(lambda c: tournament_in(c, request))

    async def GetTableRecord(
        self, request: record_pb2.GetTableRecordRequest, call: Call
    ) -> record_pb2.GetTableRecordResponse:
        return await self._database.run(lambda c: table_in(c, request, call.caller))


def _message(numbered: NumberedFinding) -> pb.Finding:
    finding = numbered.finding
    return pb.Finding(
        finding_no=numbered.number,
        feed_id=finding.feed_id,
        global_seq=finding.global_seq,
        stream_id=str(finding.stream_id),
        version=finding.version,
        kind=finding.kind,
        detail=finding.detail,
        hand_id=finding.hand_id,
        found_at_ms=numbered.found_at_ms,
    )
