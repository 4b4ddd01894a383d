"""A register over the audit's database, and witnesses of other people beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diwan.core.transparency.checkpoint import origin_of
from diwan.core.transparency.note import parse_note
from diwan.core.transparency.policy import Policy, parse_policy
from diwan.signing.heads import Heads
from diwan.signing.notekey import LogSecret
from diwan.verifier.signatures import NoteJudgement, judge_note
from diwan.witness.folder import Folder
from diwan.witness.serving import WitnessServer
from diwan.witness.witness import Witness
from services.audit import register_statements as statements
from services.audit.checkpoints import Signed, checkpoint_in, consistency_in, inclusions_in
from services.audit.register import Register

HOUSE = "diwan.test"
FEED = 1
ORIGIN = origin_of(HOUSE, FEED)
SECRET = LogSecret(bytes(range(32)))


class RunningWitness:
    """A witness that answers over HTTP; may be stopped and started."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder, self.name = folder, name
        self._server: WitnessServer | None = None
        self.port = 0

    def start(self) -> None:
        self._server = WitnessServer(("127.0.0.1", self.port), Witness(self.folder))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    @property
    def line(self) -> str:
        return f"witness {self.name} {self.folder.signing_keys()[0].verifier.text} http://127.0.0.1:{self.port}"


@contextmanager
def witnesses(where: Path, count: int, *, logs=()) -> Iterator[list[RunningWitness]]:
    """So many witnesses that know the log of the first feed."""
    running = []
    try:
        for number in range(1, count + 1):
            folder = Folder(where / f"w{number}")
            folder.init(f"auditor{number}.test/witness")
            for key in logs or [SECRET.key(ORIGIN).verifier]:
                folder.trust(key.text)
            running.append(RunningWitness(folder, f"w{number}"))
            running[-1].start()
        yield running
    finally:
        for one in running:
            one.stop()


def policy_of(running: list[RunningWitness], threshold: int) -> Policy:
    lines = [one.line for one in running]
    lines += (
        [f"group all {threshold} {' '.join(one.name for one in running)}", "quorum all"] if running else ["quorum none"]
    )
    return parse_policy("\n".join(lines))


class TestedRegister:
    """A register and what it told."""

    __test__ = False

    def __init__(self, database, where: Path, policy: Policy | None = None, secrets=(SECRET,)) -> None:
        self.database = database
        self.heads = Heads(where / "heads")
        self.register = Register(database, HOUSE, secrets, self.heads, policy)
        self.signer, self.cosigner = self.register.signer, self.register.cosigner
        self.policy = policy
        self.alarms: list[tuple[str, str]] = []
        for part in (self.signer, self.cosigner):
            part._alarm = lambda *told: self.alarms.append(told)

    def close(self) -> None:
        self.cosigner.close()

    async def sign(self):
        return await self.signer.sign(FEED)

    async def bring(self) -> None:
        """Bring the newest checkpoint to every witness that is there."""
        for witness in (self.policy.witnesses if self.policy else {}).values():
            try:
                await self.cosigner.bring(witness, FEED, self.signer)
            except OSError:
                continue

    async def newest(self, *, proved: bool = False) -> Signed:
        return await self.database.run(lambda c: checkpoint_in(c, HOUSE, FEED, 0, proved=proved))

    async def inclusions(self, numbers, size: int = 0):
        return await self.database.run(lambda c: inclusions_in(c, HOUSE, FEED, numbers, size))

    async def consistency(self, old: int, size: int = 0):
        return await self.database.run(lambda c: consistency_in(c, HOUSE, FEED, old, size))

    def judged(self, signed: Signed) -> NoteJudgement:
        return judge_note(parse_note(signed.note), parse_policy(self.register.policy_text([FEED])))

    async def sizes(self) -> list[int]:
        rows = await self.database.run(
            lambda c: c.fetch("select size from checkpoint where origin = $1 order by size", ORIGIN)
        )
        return [row["size"] for row in rows]

    async def tree_size(self) -> int:
        return (await self.database.run(lambda c: c.fetchrow(statements.TREE, FEED)))["size"]
