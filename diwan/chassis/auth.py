"""Tokens checked: JWT signed with Ed25519 (EdDSA), keys from a JWKS that may change while we run.

A token names its caller (``sub``, ``role``), the services it is good for (``aud``), who issued it (``iss``) and its
time (``iat``, ``exp``, ``jti``). The seat is never in it: it is looked up.
"""

import asyncio
import json
import time
import urllib.request
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final, Protocol

import jwt
import structlog
from jwt.algorithms import OKPAlgorithm

from diwan.chassis.access import BOT_PREFIX, PLAYER_ID_CHARACTERS_MAX, Caller, Role
from diwan.chassis.keys import ALGORITHM, SigningKey, TokenSource
from diwan.chassis.settings import ServiceSettings
from diwan.core.decider import Rejected

CACHED_TOKENS_MAX: Final = 20_000
TOKEN_CHARACTERS_MAX: Final = 4096
CLOCK_LEEWAY_SECONDS: Final = 5
_KEY_SET_BYTES_MAX: Final = 256 * 1024
_FETCH_SECONDS: Final = 3.0
_UNKNOWN_KEY_SECONDS: Final = 2.0
"""An unknown key id makes us read the set again at most this often: wrong tokens cost no reads."""

_UNKNOWN_KEY: Final = "signed with a key that we do not know"

_SHORT_LIVED: Final = frozenset({Role.PLAYER, Role.BOT})

_log = structlog.get_logger(__name__)


class KeySource(Protocol):
    """Where a key set is read."""

    def read(self) -> bytes | None:
        """Return the JWKS document, or None if it has not changed since the last reading."""


class JwksFile:
    """A key set in a file; read again when the file changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> bytes | None:
        status = self._path.stat()
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if seen == self._seen:
            return None
        content = self._path.read_bytes()
        self._seen = seen
        return content


class JwksUrl:
    """A key set behind an HTTP address of our own choosing."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._seen = b""

    def read(self) -> bytes | None:
        # The settings class admits http and https only.
        with urllib.request.urlopen(self._url, timeout=_FETCH_SECONDS) as response:  # noqa: S310
            content: bytes = response.read(_KEY_SET_BYTES_MAX + 1)
        if len(content) > _KEY_SET_BYTES_MAX:
            raise ValueError("the key set is too large")
        if content == self._seen:
            return None
        self._seen = content
        return content


def parsed_key_set(document: bytes) -> dict[str, Any]:
    """Return the Ed25519 public keys of a JWKS by key id; keys of other kinds are passed over."""
    keys: dict[str, Any] = {}
    for jwk in json.loads(document)["keys"]:
        if jwk.get("kty") == "OKP" and jwk.get("crv") == "Ed25519" and "d" not in jwk and jwk.get("kid"):
            keys[str(jwk["kid"])] = OKPAlgorithm.from_jwk(jwk)
    return keys


class Authenticator:
    """Turns tokens into callers. Call `refresh` before serving; it raises if there is no usable key set."""

    def __init__(
        self,
        source: KeySource,
        *,
        audience: str,
        issuer: str,
        player_token_seconds_max: int,
        refresh_seconds: float = 30.0,
    ) -> None:
        self._source = source
        self._audience = audience
        self._issuer = issuer
        self._player_token_seconds_max = player_token_seconds_max
        self._refresh_seconds = refresh_seconds
        self._keys: dict[str, Any] = {}
        self._known: OrderedDict[str, Caller] = OrderedDict()
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def refresh(self) -> None:
        """Read the key set if it has changed; with it every token seen before is checked anew (A7)."""
        async with self._reading:
            self._read_at = time.monotonic()
            document = await asyncio.to_thread(self._source.read)
            if document is None:
                return
            keys = parsed_key_set(document)
            if not keys:
                raise ValueError("the key set holds no Ed25519 key")
            if keys.keys() != self._keys.keys():
                _log.info("token_keys_read", key_ids=sorted(keys))
            self._keys = keys
            self._known.clear()

    async def keep_fresh(self) -> None:
        """Read the key set again and again; for a background task. A failed reading keeps the keys we have."""
        while True:
            await asyncio.sleep(self._refresh_seconds)
            await self._tried_refresh()

    async def _tried_refresh(self) -> None:
        try:
            await self.refresh()
        except (OSError, ValueError, KeyError) as error:
            # An unreachable issuer must not stop the games of those whose tokens we can check.
            _log.warning("token_keys_unreadable", error=repr(error))

    async def authenticate(self, authorization: str | None) -> Caller:
        """Return the caller of an ``authorization`` header; raises `Rejected` with UNAUTHENTICATED."""
        caller = self.recognised(authorization)
        if caller is None:
            await self._tried_refresh()
            caller = self.recognised(authorization)
        if caller is None:
            raise _refused(_UNKNOWN_KEY)
        return caller

    def recognised(self, authorization: str | None) -> Caller | None:
        """Return the caller without waiting, or None where the key set should be read anew first.

        Raises `Rejected` with UNAUTHENTICATED.
        """
        if authorization is None:
            raise _refused("no token")
        # Known by the whole header: taking it apart costs more than finding it, and every call is looked at twice.
        caller = self._known.get(authorization)
        if caller is None:
            return self._first_seen(authorization)
        if caller.expires_at_ms <= time.time() * 1000:
            del self._known[authorization]
            raise _refused("the token has expired")
        return caller

    def _first_seen(self, authorization: str) -> Caller | None:
        token = _bearer(authorization)
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.PyJWTError:
            raise _refused("not a token") from None
        key = self._keys.get(str(key_id))
        if key is None:
            if time.monotonic() - self._read_at > _UNKNOWN_KEY_SECONDS:
                return None
            raise _refused(_UNKNOWN_KEY)
        caller = self._known[authorization] = self._checked(token, key)
        if len(self._known) > CACHED_TOKENS_MAX:
            self._known.popitem(last=False)
        return caller

    def _checked(self, token: str, key: Any) -> Caller:
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=self._audience,
                issuer=self._issuer,
                leeway=CLOCK_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss", "jti"]},
            )
        except jwt.ExpiredSignatureError:
            raise _refused("the token has expired") from None
        except jwt.InvalidAudienceError:
            raise _refused("the token is for another service") from None
        except jwt.PyJWTError:
            raise _refused("the token does not hold") from None
        return self._caller_of(claims)

    def _caller_of(self, claims: dict[str, Any]) -> Caller:
        subject, players = claims["sub"], claims.get("players", "")
        if (
            not 0 < len(subject) <= PLAYER_ID_CHARACTERS_MAX
            or not subject.isprintable()
            or not isinstance(players, str)
        ):
            raise _refused("the token names no usable subject")
        try:
            role = Role(claims.get("role", ""))
        except ValueError:
            raise _refused("the token names no role that we know") from None
        if role in {Role.PLAYER, Role.BOT} and (role is Role.BOT) != subject.startswith(BOT_PREFIX):
            raise _refused("a bot's id begins with the bots' prefix, and no person's does")
        expires, issued = int(claims["exp"]), int(claims["iat"])
        if role in _SHORT_LIVED and expires - issued > self._player_token_seconds_max:
            raise _refused("the token lives too long")
        return Caller(
            subject=subject,
            role=role,
            token_id=str(claims["jti"]),
            expires_at_ms=(expires + CLOCK_LEEWAY_SECONDS) * 1000,
            players=players,
        )


def authenticator_of(settings: ServiceSettings) -> Authenticator:
    """Return the authenticator that a service's settings describe; raises ValueError where they name no key set."""
    source: KeySource
    if settings.jwks_file is not None:
        source = JwksFile(settings.jwks_file)
    elif settings.jwks_url is not None:
        source = JwksUrl(settings.jwks_url)
    else:
        raise ValueError("jwks_file or jwks_url is needed: without keys nobody could be let in")
    return Authenticator(
        source,
        audience=settings.service,
        issuer=settings.token_issuer,
        player_token_seconds_max=settings.player_token_seconds_max,
        refresh_seconds=settings.jwks_refresh_seconds,
    )


def service_tokens(settings: ServiceSettings, audience: str) -> TokenSource:
    """Return a service's own tokens for calls to the service named ``audience``."""
    if settings.service_key_file is None:
        raise ValueError("service_key_file is needed: this service calls others")
    key = SigningKey.load(settings.service_key_file)
    return TokenSource(key, settings.service, Role.SERVICE, audience, issuer=settings.token_issuer)


def _bearer(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not 0 < len(token) <= TOKEN_CHARACTERS_MAX:
        raise _refused("not a bearer token")
    return token


def _refused(why: str) -> Rejected:
    return Rejected("UNAUTHENTICATED", why=why)
