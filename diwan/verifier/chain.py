"""From stored bytes to decoded events, each held against the chain before anything it says is believed (H1, H2)."""

from __future__ import annotations

from diwan.core.hashing import ChainFault, ChainHead, event_hash, verify_chain
from diwan.core.log import LoggedEvent
from diwan.history.entries import Entry, Withheld
from diwan.verifier.report import Fault, Rule
from diwan.wire.events import NONCE_BYTES, Decoded, MalformedEvent, UnknownEvent, decode, is_table_event, kind_name


class LogReader:
    """Reads one stream's events in order; the first that does not continue it raises `Fault`.

    ``start`` is a trusted head to continue from. Without one the first event's place in the stream is taken at its
    word, as it must be for a part of a stream: then the hashes prove the part whole, not where it belongs.
    """

    def __init__(self, start: ChainHead | None = None, *, epoch: int = 0) -> None:
        self.head = start
        self.epoch = epoch
        self._stream_id: bytes | None = None

    def read(self, event: LoggedEvent) -> Decoded:
        """Return what an event says once its bytes are proved to be the next of the stream; BODY_WITHHELD without them."""
        self._follow(event)
        if event.body_hash:
            raise Fault(
                Rule.BODY_WITHHELD, event.version, "the event's body", f"its hash {event.body_hash.hex()} alone"
            )
        return _decoded(event)

    def _follow(self, event: LoggedEvent) -> None:
        head = self.head or ChainHead(event.version - 1, event.prev_hash, event.recorded_at_ms)
        stream_id = self._stream_id or event.stream_id
        if event.stream_id != stream_id:
            raise Fault(Rule.STREAM_DIFFERS, head.version + 1, stream_id.hex(), event.stream_id.hex())
        after = verify_chain(stream_id, head, (event,))
        if after.fault is not None:
            raise _chain_fault(after.fault, head, event)
        if event.epoch < self.epoch:
            raise Fault(Rule.EPOCH_RUNS_BACKWARDS, event.version, f"at least {self.epoch}", event.epoch)
        self.head, self._stream_id, self.epoch = after, stream_id, event.epoch

    def resume(self, event: LoggedEvent) -> None:
        """Go on behind an event that did not hold: one fault is told once, and what follows is still checked."""
        self.head = ChainHead(event.version, event.hash, event.recorded_at_ms)
        self.epoch = event.epoch

    def read_entry(self, event: LoggedEvent) -> Entry:
        """Return an event of a table's stream as history reads it."""
        if event.body_hash:
            self._follow(event)
            return Entry(event.version, event.recorded_at_ms, event.command_id, Withheld(kind_name(event.type_id)))
        decoded = self.read(event)
        said = decoded.event
        if not is_table_event(said):
            raise Fault(Rule.OUT_OF_PLACE, event.version, "an event of a table", kind_name(event.type_id))
        return Entry(event.version, event.recorded_at_ms, event.command_id, said, decoded.reveals)


def _decoded(event: LoggedEvent) -> Decoded:
    try:
        decoded = decode(event.type_id, event.schema_v, event.body)
    except UnknownEvent as error:
        raise Fault(Rule.UNKNOWN_EVENT, event.version, "an event that this program knows", error) from error
    except MalformedEvent as error:
        raise Fault(Rule.MALFORMED, event.version, "a body of its type", error) from error
    if len(decoded.nonce) != NONCE_BYTES:
        raise Fault(Rule.NONCE_MISSING, event.version, f"{NONCE_BYTES} random bytes", f"{len(decoded.nonce)} bytes")
    return decoded


def _chain_fault(fault: ChainFault, head: ChainHead, event: LoggedEvent) -> Fault:
    version = head.version + 1
    match fault:
        case ChainFault.VERSION_GAP:
            return Fault(Rule.VERSION_GAP, version, f"version {version}", f"version {event.version}")
        case ChainFault.PREV_HASH_DIFFERS:
            return Fault(Rule.PREV_HASH_DIFFERS, version, head.hash.hex(), event.prev_hash.hex())
        case ChainFault.TIME_RUNS_BACKWARDS:
            return Fault(Rule.TIME_RUNS_BACKWARDS, version, f"at least {head.recorded_at_ms}", event.recorded_at_ms)
        case ChainFault.HASH_DIFFERS:
            recomputed = event_hash(
                head.hash,
                event.stream_id,
                event.version,
                event.type_id,
                event.schema_v,
                event.recorded_at_ms,
                event.command_id,
                event.body,
                event.body_hash,
            )
            return Fault(Rule.HASH_DIFFERS, version, recomputed.hex(), event.hash.hex())
        case ChainFault.MALFORMED:
            return Fault(Rule.MALFORMED, version, "fields of their sizes", "others")
