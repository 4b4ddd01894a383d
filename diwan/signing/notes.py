"""Whether a note's signature holds: Ed25519 over the text, or over a time and the text (RFC 8032, C2SP)."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from diwan.core.transparency.note import (
    SIGNATURE_BYTES,
    KeyType,
    NoteMalformed,
    Signature,
    VerifierKey,
    cosigned_message,
    parse_cosignature,
)


def is_signed(text: str, signature: Signature, key: VerifierKey) -> bool:
    """Whether a log's signature over a note's text is this key's."""
    if key.kind != KeyType.ED25519 or not signature.is_of(key) or len(signature.blob) != SIGNATURE_BYTES:
        return False
    return _holds(key, signature.blob, text.encode())


def cosigned_at(text: str, signature: Signature, key: VerifierKey) -> int | None:
    """Return the time (POSIX seconds) at which a witness's key signed a note's text; None if it did not."""
    if key.kind != KeyType.COSIGNATURE_V1 or not signature.is_of(key):
        return None
    try:
        time, blob = parse_cosignature(signature.blob)
    except NoteMalformed:
        return None
    return time if _holds(key, blob, cosigned_message(time, text)) else None


def _holds(key: VerifierKey, blob: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(blob, message)
    except (InvalidSignature, ValueError):
        return False
    return True
