"""The project's hashes, written a second time from ``docs/reference/hashing.md`` alone.

It imports nothing of Diwan and takes other ways where the page leaves a choice, so that both can only agree by meaning
the same. An auditor may copy this file.
"""

import hashlib
import hmac
import uuid

RANKS, SUITS = "23456789TJQKA", "cdhs"


def u64(number):
    return number.to_bytes(8, "big")


def fields(*values):
    """Section 1. An id is given as a `uuid.UUID`, so that a text is always a text."""
    out = b""
    for value in values:
        match value:
            case int():
                raw = u64(value)
            case str():
                raw = value.encode("utf-8")
            case uuid.UUID():
                raw = value.bytes
            case _:
                raw = bytes(value)
        out += len(raw).to_bytes(4, "big") + raw
    return out


def digest(data):
    return hashlib.sha256(data).digest()


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def card_text(card):
    return RANKS[card // 4] + SUITS[card % 4]


def named_id(namespace, name):
    """UUID version 5 by hand: SHA-1 of namespace and name, with version and variant bits set."""
    raw = bytearray(hashlib.sha1(namespace.bytes + name.encode()).digest()[:16])  # noqa: S324 (RFC 9562)
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    return uuid.UUID(bytes=bytes(raw))


def hand_id(table_id, hand_no):
    """Section 2."""
    return named_id(table_id, f"hand/{hand_no}")


def secret_commitment(hand, secret):
    return digest(fields("secret/v1", hand, secret))


def seed_commitment(hand, seat, seed):
    return digest(fields("seed/v1", hand, seat, seed))


def mix(seeds):
    return b"".join(fields(seat) + fields(seed) for seat, seed in sorted(seeds.items()))


def stream(key):
    counter = 0
    while True:
        yield from mac(key, u64(counter))
        counter += 1


class Deck:
    """Sections 4 and 5."""

    def __init__(self, hand, secret, seeds):
        self.hand = hand
        self.mix = mix(seeds)
        self.k_deck = mac(secret, fields("deck/v1", hand, self.mix))
        self.k_salt = mac(secret, fields("salt/v1", hand, self.mix))
        self.bytes_used = 0
        self.cards = self._shuffled()
        self.salts = [mac(self.k_salt, u64(position)) for position in range(52)]
        self.leaves = [card_leaf(hand, k, self.cards[k], self.salts[k]) for k in range(52)]
        self.root = tree_root(self.leaves)

    def _shuffled(self):
        cards, source = list(range(52)), stream(self.k_deck)
        for n in range(52, 1, -1):
            fair = [byte for byte in range(256) if byte < 256 - 256 % n]
            while True:
                byte = next(source)
                self.bytes_used += 1
                if byte in fair:
                    break
            cards[n - 1], cards[byte % n] = cards[byte % n], cards[n - 1]
        return cards

    def path(self, position):
        return tree_path(self.leaves, position)


def card_leaf(hand, position, card, salt):
    return digest(b"\x00" + fields("card/v1", hand, position, card, salt))


def _split(size):
    """RFC 6962: the largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1


def tree_root(leaves):
    if not leaves:
        return digest(b"")
    if len(leaves) == 1:
        return leaves[0]
    k = _split(len(leaves))
    return digest(b"\x01" + tree_root(leaves[:k]) + tree_root(leaves[k:]))


def tree_path(leaves, index):
    if len(leaves) == 1:
        return []
    k = _split(len(leaves))
    if index < k:
        return [*tree_path(leaves[:k], index), tree_root(leaves[k:])]
    return [*tree_path(leaves[k:], index - k), tree_root(leaves[:k])]


def reveal_holds(hand, root, position, card, salt, path):
    """Section 6."""
    if position not in range(52) or card not in range(52) or {len(x) for x in (salt, *path)} != {32}:
        return False
    node, rest = card_leaf(hand, position, card, salt), list(path)
    at, last = position, 51
    while last > 0:
        if at % 2 == 1 or at < last:
            if not rest:
                return False
            partner = rest.pop(0)
            node = digest(b"\x01" + (partner + node if at % 2 == 1 else node + partner))
        at, last = at // 2, last // 2
    return not rest and node == root


class Draws:
    """Section 7."""

    def __init__(self, secret, label, subject, ordinal=0, seeds=None):
        self.key = mac(secret, fields("draw/v1", label, subject, ordinal, mix(seeds or {})))
        self.source = stream(self.key)

    def number(self):
        return int.from_bytes(bytes(next(self.source) for _ in range(8)), "big")

    def below(self, n):
        number = self.number()
        while number >= 2**64 - 2**64 % n:
            number = self.number()
        return number % n

    def weighted(self, weights):
        number = self.below(sum(weights))
        return min(index for index in range(len(weights)) if sum(weights[: index + 1]) > number)

    def order(self, count):
        things = list(range(count))
        for n in range(count, 1, -1):
            choice = self.below(n)
            things[n - 1], things[choice] = things[choice], things[n - 1]
        return things


def request_hash(method, request):
    return digest(fields("request/v1", method, request))


def first_prev_hash(stream_id, kind):
    return digest(fields("stream/v1", stream_id, kind))


def event_hash(previous, stream_id, version, type_id, schema_v, recorded_at_ms, command_id, body):
    """Section 9."""
    head = fields("ev/v1", previous, stream_id, version, type_id, schema_v, recorded_at_ms, command_id)
    return digest(head + fields(digest(body)))


def feed_entry(feed_id, global_seq, stream_id, version, event):
    return fields("feed/v1", feed_id, global_seq, stream_id, version, event)


def feed_leaf(*entry):
    return digest(b"\x00" + feed_entry(*entry))


def master_of_next_day(master, day):
    """Section 11."""
    return mac(master, fields("ratchet/v1", day + 1))


def wrapping_key(master, day):
    return mac(master, fields("daywrap/v1", day))


def day_key_aad(day):
    return fields("daykey/v1", day)


def hand_key_aad(hand, epoch, day, commitment):
    return fields("handkey/v1", hand, epoch, day, commitment)


def fingerprint(secret):
    return digest(fields("fingerprint/v1", secret))


def imported(source, label):
    """Section 14: what stands in the commitment's place, the stream, and the hand."""
    told = digest(fields("imported/v1", source, label))
    stream_id = named_id(uuid.UUID("5b9f7a1e-3c52-5d0e-8f64-2f1d8f0b7c31"), told.hex())
    return told, stream_id, hand_id(stream_id, 1)


def imported_salt(told, position):
    return digest(fields("imported-salt/v1", told, position))


def imported_nonce(told, version):
    return digest(fields("imported-nonce/v1", told, version))[:16]


def join_code(typed):
    """Section 15: a code as it was typed, to what stands in the log."""
    plain = "".join(
        {"O": "0", "I": "1", "L": "1"}.get(letter, letter) for letter in typed.upper() if letter not in " -"
    )
    return digest(fields("joincode/v1", plain))
