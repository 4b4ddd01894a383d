"""What a witness keeps in its folder: keys, the logs it knows, and one line a log of what it signed last.

witness.key    its key (mode 0600); previous.key while an older one still signs beside it
logs           the public keys of the logs that it knows, one a line
heads/         a file a log: size, root and origin of the newest checkpoint that it signed
evidence/      checkpoints that a log's key signed and that contradict its head
"""

from __future__ import annotations

import fcntl
import secrets
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from diwan.core.transparency.note import KeyType, NoteMalformed, VerifierKey, parse_vkey
from diwan.signing.files import replace_file, sync_folder
from diwan.signing.heads import Head, Heads
from diwan.signing.notekey import NoteKey, read_vkeys

EVIDENCE_MAX: Final = 100
"""A hostile log must not fill the disk: the first contradictions tell as much as all of them."""


class WitnessError(Exception):
    """A witness that cannot go on, or was asked for something that it does not do; the message says what to do."""


class Folder:
    """A witness's folder. ``hold`` keeps a second process out of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._heads = Heads(path / "heads")
        self._lock: IO[bytes] | None = None

    @property
    def key_file(self) -> Path:
        return self.path / "witness.key"

    @property
    def previous_key_file(self) -> Path:
        return self.path / "previous.key"

    @property
    def logs_file(self) -> Path:
        return self.path / "logs"

    def init(self, name: str) -> NoteKey:
        """Make the folder with a new key; raises `WitnessError` if there is a witness in it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = NoteKey.generate(name, KeyType.COSIGNATURE_V1)
        try:
            key.save(self.key_file)
        except FileExistsError:
            raise WitnessError(f"{self.path} holds a witness already") from None
        for part in ("heads", "evidence"):
            (self.path / part).mkdir(mode=0o700, exist_ok=True)
        replace_file(self.logs_file, "# The logs that this witness knows: one public key a line.\n")
        return key

    def hold(self) -> None:
        """Own the folder until this process ends or `release`; raises `WitnessError` if another one does."""
        if not self.key_file.exists():
            raise WitnessError(f"there is no witness in {self.path}: diwan witness init {self.path} --name NAME")
        file = (self.path / "lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise WitnessError(f"another process runs the witness in {self.path}") from None
        self._lock = file

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def signing_keys(self) -> list[NoteKey]:
        """Return the keys that sign, the newest first; raises `NoteMalformed`, PermissionError."""
        files = [self.key_file, self.previous_key_file]
        keys = [NoteKey.load(file) for file in files if file.exists()]
        if any(key.verifier.kind != KeyType.COSIGNATURE_V1 for key in keys):
            raise NoteMalformed(f"a key in {self.path} is not a witness's")
        return keys

    def logs(self) -> list[VerifierKey]:
        """Return the keys of the logs that are known."""
        return read_vkeys(self.logs_file)

    def trust(self, text: str) -> VerifierKey:
        """Know a log's key from now on; the first key of a log begins its head. Raises `NoteMalformed`."""
        key = parse_vkey(text)
        if key.kind != KeyType.ED25519:
            raise NoteMalformed(f"the key of {key.name} is not a log's")
        logs = self.logs()
        if key in logs:
            return key
        # A log whose head was lost must not begin anew under another of its keys.
        if key.name not in {log.name for log in logs} and not self._heads.path(key.name).exists():
            self.write_head(Head(key.name))
        replace_file(self.logs_file, self.logs_file.read_text("utf-8") + key.text + "\n")
        return key

    def distrust(self, text: str) -> None:
        """Forget a log's key; its head stays. Raises `WitnessError` for a key that is not known."""
        lines = self.logs_file.read_text("utf-8").splitlines()
        if text.strip() not in lines:
            raise WitnessError("no such key is known here")
        replace_file(self.logs_file, "".join(f"{line}\n" for line in lines if line != text.strip()))

    def rotate(self) -> NoteKey:
        """Make a new key under the same name; the old one signs beside it until `retire`."""
        self.hold()
        try:
            old = NoteKey.load(self.key_file)
            if self.previous_key_file.exists():
                raise WitnessError(f"the key before still signs: diwan witness retire {self.path}")
            new = NoteKey.generate(old.verifier.name, KeyType.COSIGNATURE_V1)
            old.save(self.previous_key_file)
            draft = self.key_file.with_name(f".next.{secrets.token_hex(8)}")
            new.save(draft)
            draft.replace(self.key_file)
            sync_folder(self.path)
            return new
        finally:
            self.release()

    def retire(self) -> None:
        """Destroy the key before; raises `WitnessError` if there is none."""
        self.hold()
        try:
            if not self.previous_key_file.exists():
                raise WitnessError("there is no older key")
            self.previous_key_file.unlink()
            sync_folder(self.path)
        finally:
            self.release()

    def head(self, origin: str) -> Head:
        """Return what was signed last of a log.

        Raises `WitnessError` if it is lost or damaged: a witness that forgot what it signed must sign no more.
        """
        lost = f"the head of {origin} is lost or damaged ({self._heads.path(origin)}); this witness must be replaced, not mended"
        try:
            head = self._heads.read(origin)
        except NoteMalformed:
            raise WitnessError(lost) from None
        if head is None:
            raise WitnessError(lost)
        return head

    def heads(self) -> list[Head]:
        """Return what was signed last of each log that is known."""
        return [self.head(origin) for origin in sorted({key.name for key in self.logs()})]

    def write_head(self, head: Head) -> None:
        """Keep what is about to be signed; on disk when this returns, whole or not at all."""
        self._heads.write(head)

    def evidence(self) -> list[Path]:
        """Return the signed requests that contradicted a head."""
        return sorted((self.path / "evidence").iterdir())

    def keep_evidence(self, request: bytes) -> Path | None:
        """Keep a signed request that contradicts a head; None once there are enough of them."""
        path = self.path / "evidence" / sha256(request).hexdigest()[:32]
        if path.exists() or len(self.evidence()) >= EVIDENCE_MAX:
            return None
        replace_file(path, request.decode())
        return path
