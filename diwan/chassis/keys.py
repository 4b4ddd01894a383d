"""Signing keys of tokens: made, kept in files of mode 0600, and published as a JWKS."""

import json
import os
import secrets
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

from diwan.chassis.access import Role

ALGORITHM: Final = "EdDSA"
SERVICE_TOKEN_SECONDS: Final = 300


def _public_jwk(key: Ed25519PrivateKey) -> dict[str, Any]:
    jwk: dict[str, Any] = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    # The thumbprint of RFC 7638: the same key has the same id wherever it is published.
    thumbprint = json.dumps({name: jwk[name] for name in ("crv", "kty", "x")}, sort_keys=True, separators=(",", ":"))
    return {**jwk, "kid": sha256(thumbprint.encode()).hexdigest()[:32], "use": "sig", "alg": ALGORITHM}


def _written(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # The mode is given at creation: a moment at 0644 is enough for somebody who waits for it.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


class SigningKey:
    """An Ed25519 key that signs tokens."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public_jwk = _public_jwk(key)

    def __repr__(self) -> str:
        return f"SigningKey({self.key_id})"

    @classmethod
    def generate(cls) -> Self:
        """Return a new key from the system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a PEM file; raises ValueError if it is no Ed25519 key, PermissionError if others may read it.

        The group may: a secret mounted into a container belongs to root and is read by the service's group.
        """
        if path.stat().st_mode & 0o027:
            raise PermissionError(f"{path} may be read by others; its mode must be 0600, or 0640 at most")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"{path} holds no Ed25519 key")  # noqa: TRY004  (the file is wrong, not the caller)
        return cls(key)

    @classmethod
    def load_or_generate(cls, path: Path) -> Self:
        """Read the key of a data directory, or make it there the first time."""
        if not path.exists():
            cls.generate().save(path)
        return cls.load(path)

    def save(self, path: Path) -> None:
        """Write the key as PEM, readable by its owner alone."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        _written(path, pem, 0o600)

    @property
    def key_id(self) -> str:
        """The ``kid`` that its tokens name."""
        return str(self.public_jwk["kid"])

    def mint(
        self,
        subject: str,
        role: Role,
        audience: str | Iterable[str],
        *,
        issuer: str = "diwan",
        seconds: int = SERVICE_TOKEN_SECONDS,
        players: str | None = None,
    ) -> str:
        """Return a token for ``subject`` in ``role``, good at the services named as ``audience``.

        ``players``: for a back end, the prefix of the ids of its players; it can act for no others.
        """
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": issuer,
            "sub": subject,
            "role": role.value,
            "aud": audience if isinstance(audience, str) else list(audience),
            "iat": now,
            "exp": now + seconds,
            "jti": secrets.token_hex(16),
        }
        if players is not None:
            claims["players"] = players
        return jwt.encode(claims, self._key, algorithm=ALGORITHM, headers={"kid": self.key_id})


def write_jwks(path: Path, keys: Iterable[SigningKey]) -> None:
    """Publish the public halves; replaced in one step, so that a reader never sees half a set."""
    content = json.dumps({"keys": [key.public_jwk for key in keys]}, indent=2)
    _written(path, content.encode() + b"\n", 0o644)


class TokenSource:
    """A caller's own tokens, minted from a key and renewed while half of their time is left."""

    def __init__(
        self,
        key: SigningKey,
        subject: str,
        role: Role,
        audience: str | Iterable[str],
        *,
        issuer: str = "diwan",
        seconds: int = SERVICE_TOKEN_SECONDS,
    ) -> None:
        self._key = key
        self._subject = subject
        self._role = role
        self._audience = audience if isinstance(audience, str) else tuple(audience)
        self._issuer = issuer
        self._seconds = seconds
        self._token = ""
        self._renew_at = 0.0

    def __call__(self) -> str:
        """Return a token with at least half of its time left."""
        now = time.monotonic()
        if now >= self._renew_at:
            self._token = self._key.mint(
                self._subject, self._role, self._audience, issuer=self._issuer, seconds=self._seconds
            )
            self._renew_at = now + self._seconds / 2
        return self._token
