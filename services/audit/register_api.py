"""The register over gRPC: hashes and signatures only, so everybody may ask."""

from __future__ import annotations

from diwan.api.audit.v1 import register_pb2 as pb
from diwan.chassis.calls import Call
from diwan.chassis.database import Database
from services.audit import register_statements as statements
from services.audit.checkpoints import Signed, checkpoint_in, checkpoints_in, consistency_in, inclusions_in
from services.audit.register import Register


class RegisterServicer:
    """Checkpoints, proofs, and whom to trust."""

    def __init__(self, database: Database, register: Register) -> None:
        self._database = database
        self._register = register
        self._house = register.house

    async def GetCheckpoint(self, request: pb.GetCheckpointRequest, _call: Call) -> pb.GetCheckpointResponse:
        found = await self._database.run(
            lambda c: checkpoint_in(c, self._house, request.feed_id, request.size, proved=request.proved)
        )
        return pb.GetCheckpointResponse(checkpoint=_message(found))

    async def ListCheckpoints(self, request: pb.ListCheckpointsRequest, _call: Call) -> pb.ListCheckpointsResponse:
        found, token = await self._database.run(
            lambda c: checkpoints_in(c, self._house, request.feed_id, request.page_size, request.page_token)
        )
        return pb.ListCheckpointsResponse(checkpoints=map(_message, found), next_page_token=token)

    async def GetInclusionProof(
        self, request: pb.GetInclusionProofRequest, _call: Call
    ) -> pb.GetInclusionProofResponse:
        head, proofs = await self._database.run(
            lambda c: inclusions_in(c, self._house, request.feed_id, request.global_seqs, request.size)
        )
        return pb.GetInclusionProofResponse(
            checkpoint=_message(head),
            proofs=[pb.InclusionProof(global_seq=one.global_seq, leaf=one.leaf, path=one.path) for one in proofs],
        )

    async def GetConsistencyProof(
        self, request: pb.GetConsistencyProofRequest, _call: Call
    ) -> pb.GetConsistencyProofResponse:
        head, hashes = await self._database.run(
            lambda c: consistency_in(c, self._house, request.feed_id, request.old_size, request.size)
        )
        return pb.GetConsistencyProofResponse(checkpoint=_message(head), hashes=hashes)

    async def GetRegisterPolicy(
        self, request: pb.GetRegisterPolicyRequest, _call: Call
    ) -> pb.GetRegisterPolicyResponse:
        rows = await self._database.run(lambda c: c.fetch(statements.SIZES))
        return pb.GetRegisterPolicyResponse(policy=self._register.policy_text(row["feed_id"] for row in rows))


def _message(signed: Signed) -> pb.Checkpoint:
    return pb.Checkpoint(
        origin=signed.origin,
        size=signed.size,
        root=signed.root,
        note=signed.note,
        is_proved=signed.is_proved,
        signed_at_ms=signed.signed_at_ms,
    )
