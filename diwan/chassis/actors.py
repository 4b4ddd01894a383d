"""What every owner of a stream lives by: a mailbox, and the first answers of requests, given again (H6)."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterator
from uuid import UUID

import msgspec

from diwan.core.decider import Rejected


class Mailbox[Letter]:
    """What waits for one reader, in the order of its coming. Who puts something in says how much may wait."""

    def __init__(self) -> None:
        self._letters: deque[Letter] = deque()
        self._reader: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: Letter) -> None:
        """Add a letter, and wake the reader."""
        self._letters.append(letter)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def take(self) -> Letter:
        """Return the oldest letter, once there is one."""
        while not self._letters:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self._letters.popleft()

    def emptied(self) -> Iterator[Letter]:
        """Yield and remove everything that waits."""
        while self._letters:
            yield self._letters.popleft()


class Answer(msgspec.Struct, frozen=True):
    """What became of a request: its versions, the reply recorded with it, and whether it took effect earlier.

    The versions are 0 where it led to nothing.
    """

    first_version: int = 0
    last_version: int = 0
    reply: bytes = b""
    is_replayed: bool = False


def replayed(known_hash: bytes, answer: Answer, request_hash: bytes) -> Answer | Rejected:
    """Return the first answer again, or a conflict where the same id asks for something else (H6)."""
    if known_hash != request_hash:
        return Rejected("REQUEST_ID_CONFLICT")
    return Answer(answer.first_version, answer.last_version, answer.reply, is_replayed=True)


class FirstAnswers:
    """The newest answers in memory, by command; older ones are read from the store."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._answers: OrderedDict[UUID, tuple[bytes, Answer]] = OrderedDict()

    def remember(self, command_id: UUID, request_hash: bytes, answer: Answer) -> None:
        """Keep what a command was answered."""
        self._answers[command_id] = (request_hash, answer)
        if len(self._answers) > self._kept:
            self._answers.popitem(last=False)

    def again(self, command_id: UUID, request_hash: bytes) -> Answer | Rejected | None:
        """Return what the same command is answered now; None where it is not known here."""
        known = self._answers.get(command_id)
        return None if known is None else replayed(*known, request_hash)
