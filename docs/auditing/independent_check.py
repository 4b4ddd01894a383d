"""A second opinion on a bundle, from docs/reference/bundle.md and hashing.md alone.

    python3 independent_check.py HAND.bundle --log KEY [--log KEY ...] [--witness KEY ... --need K]

It needs Python 3.12 and the package `cryptography`, and nothing of Diwan. It checks the file, every hash and chain, the way
from each event to a checkpoint, the checkpoint's signatures, the commitments to secrets and seeds, every card that
was turned up, an auditor's whole deck, and of no-limit hold'em the deal, the pots, the winners, the odd chips and the wallet's
transfers. It knows no rules of betting: whether a decision was legal is what `diwan verify` says.
Field numbers of bodies are those of protos/diwan/api/event/v1.
"""

import argparse
import base64
import hashlib
import hmac
import json
import re
import sys
import uuid
from collections import Counter
from itertools import combinations
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FIELDS = {
    "bundle": "is format house about subject lens seat",
    "checkpoint": "is feed_id note consistency",
    "hand": "is stream_id hand_id needs_version first_version last_version secret reveals",
    "stream": "is feed_id stream_id",
    "event": "is version global_seq command_id type_id schema_v recorded_at_ms prev_hash hash body_hash body path",
    "end": "is lines",
}
ORDER = ["bundle", "checkpoint", "hand", "stream", "end"]
ACCOUNTS = uuid.UUID("6f1c8f0e-2f6b-5d5a-9a52-3b0f4c1d7e90")
BOOKS = uuid.uuid5(ACCOUNTS, "ledger/1")
CREATED, STARTED, CAPSA, SECRET, SEEDS, OPENED, LEDGER = 40, 10, 100, 50, 51, 53, 70
POSTED, DEALT, ACTED, RETURNED, BOARD, SHOWN, POT, VOIDED, ENDED = 11, 12, 14, 15, 17, 18, 19, 21, 22
REVEALS = {BOARD: 2, SHOWN: 2, 102: 4, 111: 2}  # in which field a kind of event has its reveals


class Wrong(Exception):
    """Something does not hold."""


def need(holds, what):
    if not holds:
        raise Wrong(what)


def raw(text):
    found = base64.b64decode(text, validate=True)
    need(base64.b64encode(found).decode() == text, "base64 in another spelling")
    return found


# --- hashing.md ------------------------------------------------------------------------------------------------------


def prefixed(label, *fields):
    out = b""
    for field in (label.encode(), *fields):
        data = field.to_bytes(8, "big") if isinstance(field, int) else field
        out += len(data).to_bytes(4, "big") + data
    return out


def sha(data):
    return hashlib.sha256(data).digest()


def node(left, right):
    return sha(b"\x01" + left + right)


def stream_of(key):
    count = 0
    while True:
        yield from hmac.digest(key, count.to_bytes(8, "big"), "sha256")
        count += 1


def deck_of(hand, secret, seeds):
    """Return cards, salts and the root (sections 4 and 5)."""
    mix = b"".join(prefixed_seed(seat, seeds[seat]) for seat in sorted(seeds))
    deck_key = hmac.digest(secret, prefixed("deck/v1", hand, mix), "sha256")
    salt_key = hmac.digest(secret, prefixed("salt/v1", hand, mix), "sha256")
    cards, chance = list(range(52)), stream_of(deck_key)
    for top in range(51, 0, -1):
        limit = 256 - 256 % (top + 1)
        drawn = next(byte for byte in chance if byte < limit)
        at = drawn % (top + 1)
        cards[top], cards[at] = cards[at], cards[top]
    salts = [hmac.digest(salt_key, i.to_bytes(8, "big"), "sha256") for i in range(52)]
    level = [card_leaf(hand, i, cards[i], salts[i]) for i in range(52)]
    while len(level) > 1:
        level = [node(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return cards, salts, level[0]


def prefixed_seed(seat, seed):
    return (8).to_bytes(4, "big") + seat.to_bytes(8, "big") + len(seed).to_bytes(4, "big") + seed


def card_leaf(hand, position, card, salt):
    return sha(b"\0" + prefixed("card/v1", hand, position, card, salt))


def check_reveal(hand, root, position, card, salt, path):
    need(position < 52 and card < 52 and len(salt) == 32, "a reveal that is none")
    found, at, last, rest = card_leaf(hand, position, card, salt), position, 51, list(path)
    while last:
        if at % 2 or at < last:
            need(rest, f"the path of position {position} is too short")
            other = rest.pop(0)
            found = node(other, found) if at % 2 else node(found, other)
        at, last = at // 2, last // 2
    need(not rest and found == root, f"the card at position {position} is not the one that was dealt")


# --- bodies: protobuf by hand ----------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        need(shift < 70, "a number without end")


def message(data):
    """Return a message's fields by number, each a list of numbers or bytes."""
    fields, at = {}, 0
    try:
        while at < len(data):
            key, at = varint(data, at)
            if key & 7 == 0:
                value, at = varint(data, at)
            else:
                need(key & 7 == 2, "a field of another type")
                size, at = varint(data, at)
                value, at = data[at : at + size], at + size
                need(len(value) == size, "a field that is cut")
            fields.setdefault(key >> 3, []).append(value)
    except IndexError:
        raise Wrong("a body that is cut") from None
    return fields


def one(fields, number, default=0):
    return fields.get(number, [default])[-1]


def text(fields, number):
    return one(fields, number, b"").decode()


def numbers(fields, number):
    """Return a repeated number, packed or not, below 0 where its top bit is set."""
    found = []
    for value in fields.get(number, []):
        at = 0
        while isinstance(value, bytes) and at < len(value):
            each, at = varint(value, at)
            found.append(each)
        found += [value] if isinstance(value, int) else []
    return [each - 2**64 if each >= 2**63 else each for each in found]


def reveals_of(fields, number):
    for each in map(message, fields.get(number, [])):
        yield one(each, 1), one(each, 2), one(each, 3, b""), each.get(4, [])


# --- bundle.md: the file ---------------------------------------------------------------------------------------------


def records(lines):
    """Return the file's records once each line is in its one spelling and in its place."""
    found, stage = [], 0
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            spelled = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        except (ValueError, RecursionError) as error:
            raise Wrong(f"line {number}: {error}") from None
        need(isinstance(record, dict) and record.get("is") in FIELDS, f"line {number}: no record of a bundle")
        need(spelled == line and list(record) == FIELDS[record["is"]].split(), f"line {number}: another spelling")
        place = ORDER.index("stream" if record["is"] == "event" else record["is"])
        need(place >= stage and (place > 0) == (number > 1), f"line {number}: out of its place")
        stage = place
        found.append(record)
    need(found and found[0]["format"] == "diwan-bundle/v1", "no bundle of this format")
    need(found[-1]["is"] == "end" and found[-1]["lines"] == len(found), "the end is missing")
    return found


def check_note(note, origin, logs, witnesses, threshold):
    """Return size and root of a checkpoint once the log and enough witnesses have signed it."""
    body, gap, tail = note.rpartition("\n\n")
    need(gap and tail.endswith("\n"), "a note without signatures")
    signed = body + "\n"
    lines = signed.split("\n")
    need(len(lines) >= 4 and lines[0] == origin, f"a checkpoint of {lines[0]}, not of {origin}")
    by_log, by_witness = set(), set()
    for line in tail[:-1].split("\n"):
        dash, name, blob = line.split(" ")
        need(dash == "\u2014", "no signature line")
        blob = raw(blob)
        for key in logs + witnesses:
            if (key[0], key[1]) != (name, blob[:4]):
                continue
            stamp = b"" if key in logs else f"cosignature/v1\ntime {int.from_bytes(blob[4:12], 'big')}\n".encode()
            try:
                Ed25519PublicKey.from_public_bytes(key[2]).verify(
                    blob[4 if key in logs else 12 :], stamp + signed.encode()
                )
            except InvalidSignature:
                raise Wrong(f"the signature of {name} does not hold") from None
            (by_log if key in logs else by_witness).add(key)
    need(any(key[0] == origin for key in by_log), f"no key of {origin} that is trusted has signed")
    need(len(by_witness) >= threshold, f"{len(by_witness)} of {threshold} witnesses have signed")
    return int(lines[1]), raw(lines[2])


def vkey(word):
    """Return name, id and key of a verifier key; the id is what it must be."""
    found = re.fullmatch(r"([^+\s]+)\+([0-9a-f]{8})\+(\S+)", word)
    need(found, f"not a key, NAME+ID+KEY: {word}")
    name, digits, encoded = found.groups()
    key_id = sha(name.encode() + b"\n" + raw(encoded))[:4]
    need(key_id.hex() == digits, f"the key of {name} has another id")
    return name, key_id, raw(encoded)[1:]


def check_path(known, size, index, leaf, path):
    found, level, last, rest, visited = leaf, 0, size - 1, list(path), []
    need(0 <= index < size, "a number beyond the checkpoint")
    while (level, index) not in known:
        visited.append(((level, index), found))
        if index % 2 or index < last:
            need(rest, "a path that is too short")
            other = rest.pop(0)
            visited.append(((level, index ^ 1), other))
            found = node(other, found) if index % 2 else node(found, other)
        level, index, last = level + 1, index // 2, last // 2
    need(known[level, index] == found and not rest, "a path that does not lead to the checkpoint")
    known.update(visited)


def check_consistency(old, old_root, size, root, proof):
    """RFC 6962, 2.1.2."""
    need(0 < old <= size, "an older checkpoint that is larger")
    if old == size:
        need(old_root == root and not proof, "two checkpoints of one size with two roots: the log has forked")
        return
    rest = list(proof) if old & (old - 1) else [old_root, *proof]
    at, last = old - 1, size - 1
    while at % 2:
        at, last = at // 2, last // 2
    need(rest, "no proof between two checkpoints")
    before = after = rest.pop(0)
    for other in rest:
        need(last, "a proof between two checkpoints that is too long")
        if at % 2 or at == last:
            before, after = node(other, before), node(other, after)
            while at and not at % 2:
                at, last = at // 2, last // 2
        else:
            after = node(after, other)
        at, last = at // 2, last // 2
    need(last == 0 and (before, after) == (old_root, root), "one checkpoint does not extend the other")


def check_event(event, feed_id, stream, trees):
    """Hold an event against its own hash and against its feed's checkpoint; return its body's payload."""
    body, prev, digest = raw(event["body"]), raw(event["prev_hash"]), raw(event["hash"])
    body_hash = raw(event["body_hash"]) or sha(body)
    need(not (event["body"] and event["body_hash"]), "a body and its hash")
    place = [event[name] for name in ("version", "type_id", "schema_v", "recorded_at_ms")]
    command = uuid.UUID(event["command_id"]).bytes
    at = f"event {event['version']}"
    need(
        sha(prefixed("ev/v1", prev, stream, *place, command, body_hash)) == digest,
        f"{at}: its bytes are not what was hashed",
    )
    if event["version"] == 1:
        need(prev == sha(prefixed("stream/v1", stream, feed_id)), f"{at}: not the first of its stream")
    size, known = trees[feed_id]
    leaf = sha(b"\0" + prefixed("feed/v1", feed_id, event["global_seq"], stream, event["version"], digest))
    try:
        check_path(known, size, event["global_seq"] - 1, leaf, map(raw, event["path"]))
    except Wrong as wrong:
        raise Wrong(f"{at}: {wrong}") from None
    envelope = message(body)
    need(not body or len(one(envelope, 1, b"")) == 16, f"{at}: no random bytes")
    need(not body or event["type_id"] in envelope, f"{at}: a body of another kind")
    return message(one(envelope, event["type_id"], b"")) if body else None


# --- a hand ----------------------------------------------------------------------------------------------------------


def commitments(hand, number, events):
    """Return what was committed to for a hand before it began: its secret, and each seat's seed (section 3)."""
    first_kind, first = events[hand["needs_version"]][0]["type_id"], events[hand["needs_version"]][1]
    from_start = number == 1 and hand["needs_version"] == 1
    need(
        from_start or (first_kind in (STARTED, CAPSA) and first and one(first, 2) == number - 1),
        "earlier events are left out",
    )
    committed, seats_committed = None, {}
    for version in range(hand["needs_version"], hand["first_version"]):
        event, payload = events[version]
        match event["type_id"]:
            case t if t in (STARTED, CAPSA, SECRET, SEEDS) and payload is None:
                raise Wrong(f"the body of event {version}, which commits to something, is withheld")
            case t if t in (STARTED, CAPSA) and one(payload, 2) == number - 1:
                committed, seats_committed = one(payload, 13 if t == STARTED else 11, b""), {}
            case t if t == SECRET and one(payload, 1) == number:
                committed, seats_committed = one(payload, 2, b""), {}
            case t if t == SEEDS and one(payload, 1) == number:
                need(committed is not None, "seeds before the secret")
                seats_committed = {one(m, 1): one(m, 2, b"") for m in map(message, payload.get(2, []))}
    return committed, seats_committed


def check_hand(hand, lens, seat, events, chips_of, ledger):
    """Check one hand; ``events`` by version are (event, payload)."""
    versions = range(hand["needs_version"], hand["last_version"] + 1)
    need(all(version in events for version in versions), "events are left out")
    for version in versions[1:]:
        before, event = events[version - 1][0], events[version][0]
        need(event["prev_hash"] == before["hash"], f"event {version} does not follow the one before it")
        need(
            event["recorded_at_ms"] >= before["recorded_at_ms"],
            f"event {version} was recorded before the one before it",
        )
    kind, started = events[hand["first_version"]][0]["type_id"], events[hand["first_version"]][1]
    need(kind in (STARTED, CAPSA) and started is not None, "no beginning of a hand")
    seeds_at, absent_at, secret_at, root_at = (10, 11, 9, 12) if kind == STARTED else (8, 9, 7, 10)
    number, hand_id = one(started, 2), uuid.UUID(hand["hand_id"])
    need(text(started, 1) == hand["hand_id"], "another hand")
    need(uuid.uuid5(uuid.UUID(hand["stream_id"]), f"hand/{number}") == hand_id, "an id that is not the hand's")
    committed, seats_committed = commitments(hand, number, events)
    need(committed == one(started, secret_at, b""), "another secret than the one committed to")
    seeds = {one(m, 1): one(m, 2, b"") for m in map(message, started.get(seeds_at, []))}
    for owner, seed in seeds.items():
        wanted = sha(prefixed("seed/v1", hand_id.bytes, owner, seed))
        need(seats_committed.get(owner) == wanted, f"the seed of seat {owner} is not the one committed to")
    seats = [message(m) for m in started[5]]
    dealt = [one(each, 1) for each in seats]
    need(numbers(started, absent_at) == [each for each in dealt if each not in seeds], "other seats were absent")
    root, cards = one(started, root_at, b""), {}
    next_at = 13 if kind == STARTED else 11
    need(all(len(one(started, at, b"")) == 32 for at in (secret_at, root_at, next_at)), "a commitment that is none")
    own = [events[version] for version in range(hand["first_version"], hand["last_version"] + 1)]
    commands = [event["command_id"] for event, _ in own]
    for event, payload in own:
        if event["type_id"] == OPENED:  # A look at hidden cards: who looked, and why, is for auditors.
            need(payload is not None or lens != "auditor", f"the body of event {event['version']} is withheld")
            need(commands.count(event["command_id"]) == 1, "a look among another command's events")
    shown = [
        r
        for event, payload in own
        if payload and event["type_id"] in REVEALS
        for r in reveals_of(payload, REVEALS[event["type_id"]])
    ]
    shown += [(r["position"], r["card"], raw(r["salt"]), list(map(raw, r["path"]))) for r in hand["reveals"]]
    for position, card, salt, path in shown:
        check_reveal(hand_id.bytes, root, position, card, salt, path)
        need(card not in cards.values() or cards.get(position) == card, f"card {card} comes twice")
        cards[position] = card
    if lens == "auditor":
        secret = raw(hand["secret"])
        need(sha(prefixed("secret/v1", hand_id.bytes, secret)) == committed, "the secret is not the one committed to")
        deck, _, whole = deck_of(hand_id.bytes, secret, seeds)
        need(whole == root and all(deck[p] == c for p, c in cards.items()), "the secret gives another deck")
    need(own[-1][0]["type_id"] == ENDED and sum(e["type_id"] == ENDED for e, _ in own) == 1, "no end, or two")
    if (
        kind == STARTED
        and text(message(started[4][0]), 1) == "holdem"
        and text(message(started[4][0]), 2) == "no_limit"
    ):
        told = [payload for event, payload in own if event["type_id"] != OPENED]
        need(None not in told, "bodies of the hand are withheld")
        payoffs = check_holdem(started, own, cards, [r["position"] for r in hand["reveals"]], seat)
        cause = f"table/{hand['stream_id']}/{hand['last_version']}"
        if chips_of == 1:  # chips of the wallet, and no match's or tournament's
            check_wallet(hand_id, seats, payoffs, cause, ledger)


def strength(cards):
    """Return what a five-card hand is worth."""
    ranks = sorted((card // 4 for card in cards), reverse=True)
    if ranks == [12, 3, 2, 1, 0]:
        ranks = [3, 2, 1, 0, -1]
    groups = sorted(((n, rank) for rank, n in Counter(ranks).items()), reverse=True)
    counts = [n for n, _ in groups]
    straight = len(counts) == 5 and ranks[0] - ranks[4] == 4
    flush = len({card % 4 for card in cards}) == 1
    kinds = [[1, 1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], None, None, [3, 2], [4, 1]]
    level = 8 if straight and flush else 5 if flush else 4 if straight else kinds.index(counts)
    return level, [rank for _, rank in groups]


def check_holdem(started, own, cards, own_positions, viewer):
    """Deal, pots, winners, odd chips, payoffs and digest of no-limit hold'em; returns the payoffs."""
    seats = [message(m) for m in started[5]]
    names, stacks = [one(seat, 1) for seat in seats], {one(seat, 1): one(seat, 3) for seat in seats}
    button = one(started, 6)
    order = [s for s in names if s > button] + [s for s in names if s <= button]
    dues = [message(m) for m in started.get(8, [])]
    antes = [one(due, 3) for due in dues if one(due, 2) == 1]
    level_antes = len(antes) == len(names) and len(set(antes)) == 1
    put, dead, folded, board, held = Counter(), Counter(), set(), [], {}
    result = one(own[-1][1], 1)
    for event, payload in own:
        match event["type_id"]:
            case t if t == POSTED:
                is_dead = one(payload, 2) == 4 or (one(payload, 2) == 1 and not level_antes)
                (dead if is_dead else put)[one(payload, 1)] += one(payload, 3)
            case t if t == DEALT:
                holdings = [numbers(message(m), 1) for m in payload[1]]
                plan = {s: [order.index(s), order.index(s) + len(order)] for s in names}
                need(dict(zip(names, holdings, strict=True)) == plan, "hidden cards of other positions")
                held = plan
            case t if t == ACTED:
                put[one(payload, 1)] += one(payload, 4)
                folded |= {one(payload, 1)} if one(payload, 2) == 1 else set()
            case t if t == RETURNED:
                put[one(payload, 1)] -= one(payload, 2)
            case t if t == BOARD:
                board += [position for position, *_ in reveals_of(payload, 2)]
    need(viewer is None or own_positions == held.get(viewer), "other cards than the seat's own")
    need(board == list(range(2 * len(names), 2 * len(names) + len(board))), "a board of other positions")
    won = Counter()
    if result == 3:  # void: everything goes back
        won.update(put + dead)
    else:
        won = check_pots(
            own, put, sum(dead.values()) + one(started, 16), folded, stacks, dead, order, held, board, cards
        )
    end = own[-1][1]
    payoffs = [won[s] - put[s] - dead[s] for s in names]
    need(numbers(end, 3) == payoffs or (not any(payoffs) and not any(numbers(end, 3))), "other payoffs")
    need(numbers(end, 2) == [stacks[s] + payoff for s, payoff in zip(names, payoffs, strict=True)], "other stacks")
    check_digest(own, button, names, numbers(end, 2), payoffs, bytes(cards[p] for p in board), cards, held)
    return payoffs


def check_digest(own, button, names, stacks, payoffs, board, cards, held):
    """Section 12 of hashing.md."""

    def signed(values):
        return b"".join(value.to_bytes(8, "big", signed=True) for value in values)

    pots, shown = [], b""
    for event, payload in own:
        if event["type_id"] == POT:
            able, shares = numbers(payload, 3), [(one(m, 1), one(m, 2)) for m in map(message, payload.get(4, []))]
            pots += [one(payload, 2), len(able), *able, len(shares), *(value for share in shares for value in share)]
    showing = {one(payload, 1) for event, payload in own if event["type_id"] == SHOWN}
    for seat in names:
        if seat in showing:
            shown += bytes([seat, len(held[seat]), *(cards[p] for p in held[seat])])
    result = {1: b"uncontested", 2: b"showdown", 3: b"void"}[one(own[-1][1], 1)]
    lists = [signed(names), signed(stacks), signed(payoffs), board, signed(pots), shown]
    need(one(own[-1][1], 6, b"") == sha(prefixed("outcome/v1", result, button, *lists)), "a digest of another outcome")


def check_pots(own, put, extra, folded, stacks, dead, order, held, board, cards):
    alive = [s for s in order if s not in folded]
    all_in = {s for s in alive if stacks[s] == put[s] + dead[s]}
    pots, below = [], 0
    for level in [*sorted({put[s] for s in all_in}), None]:
        amount = extra + sum(min(p, p if level is None else level) - min(p, below) for p in put.values())
        if not amount:
            continue
        able = {s for s in alive if s not in all_in or (level is not None and put[s] >= level)}
        extra = 0
        if able or not pots:
            pots.append([amount, able or set(alive)])
        else:
            pots[-1][0] += amount
        below = level or below
    told = [payload for event, payload in own if event["type_id"] == POT]
    need([(one(p, 2), set(numbers(p, 3))) for p in told] == [(a, e) for a, e in pots], "other pots")
    won = Counter()
    for (amount, able), payload in zip(pots, told, strict=True):
        winners = [s for s in order if s in able]
        if len(alive) > 1:

            def best(s):
                return max(strength(five) for five in combinations([cards[p] for p in held[s] + board], 5))

            need(all(p in cards for s in able for p in held[s] + board), "cards that were not shown")
            top = max(map(best, able))
            winners = [s for s in winners if best(s) == top]
        share, odd = divmod(amount, len(winners))
        shares = {s: share + (place < odd) for place, s in enumerate(winners)}
        need({one(m, 1): one(m, 2) for m in map(message, payload.get(4, []))} == shares, "other shares of a pot")
        won.update(shares)
    return won


def check_wallet(hand_id, seats, payoffs, cause, ledger):
    """The wallet moved each loss to whoever won it, and nothing else for this hand."""

    def escrow(place):
        return str(uuid.uuid5(ACCOUNTS, f"escrow/{text(seats[place], 5)}"))

    need(all(text(seat, 5) for seat in seats), "seats whose chips are nobody's")
    due, wanted = {i: p for i, p in enumerate(payoffs) if p > 0}, []
    for loser, payoff in enumerate(payoffs):
        owed = max(-payoff, 0)
        while owed:
            winner = min(due)
            amount = min(owed, due[winner])
            name = f"settle/{one(seats[loser], 1)}/{one(seats[winner], 1)}"
            wanted.append((str(uuid.uuid5(hand_id, name)), escrow(loser), escrow(winner), amount, "hand", cause))
            owed, due[winner] = owed - amount, due[winner] - amount
            due = {i: p for i, p in due.items() if p}
    ids = {transfer[0] for transfer in wanted}
    found = [t for t in ledger if t[5] == cause or t[0] in ids]
    need(
        sorted(found) == sorted(wanted),
        f"the wallet posted {len(found)} transfers where {len(wanted)} are due, or others",
    )


# --- everything ------------------------------------------------------------------------------------------------------


def check(lines, logs, witnesses=(), threshold=0):
    """Raise `Wrong` at the first thing that does not hold; ``logs`` and ``witnesses`` are verifier keys."""
    found = records(lines)
    header, hands = found[0], [record for record in found if record["is"] == "hand"]
    need(header["about"] != "hand" or [h["hand_id"] for h in hands] == [header["subject"]], "another subject")
    heads, trees, logs, witnesses = {}, {}, list(map(vkey, logs)), list(map(vkey, witnesses))
    for record in found:
        if record["is"] == "checkpoint":
            origin = f"{header['house']}/feed/{record['feed_id']}"
            size, root = check_note(record["note"], origin, logs, witnesses, threshold)
            if record["feed_id"] in heads:
                check_consistency(size, root, *heads[record["feed_id"]], list(map(raw, record["consistency"])))
            else:
                heads[record["feed_id"]] = size, root
                trees[record["feed_id"]] = size, {((size - 1).bit_length(), 0): root}
    tables, ledger, stream = {}, [], None
    for record in found:
        if record["is"] == "stream":
            stream, feed_id, seq = uuid.UUID(record["stream_id"]).bytes, record["feed_id"], 0
            need(feed_id in trees, "a stream without a checkpoint")
            need(feed_id != 2 or stream == BOOKS.bytes, "a stream of the wallet that is not its ledger")
        elif record["is"] == "event":
            payload = check_event(record, feed_id, stream, trees)
            is_told = feed_id == 1 and record["type_id"] == OPENED and payload is not None
            need(not is_told or header["lens"] == "auditor", "it is told who looked at hidden cards")
            need(record["global_seq"] > seq, "events of a stream in another order")
            seq = record["global_seq"]
            if feed_id == 1:
                tables.setdefault(str(uuid.UUID(bytes=stream)), {})[record["version"]] = record, payload
            elif record["type_id"] == LEDGER and payload:
                moved = [message(m) for m in payload.get(2, [])]
                ledger += [(*(text(m, i) for i in (1, 2, 3)), one(m, 4), text(m, 5), text(m, 6)) for m in moved]
    for hand in hands:
        events = tables.get(hand["stream_id"], {})
        need(1 in events and events[1][0]["type_id"] == CREATED, "the table's beginning is missing")
        chips_of = one(message(one(events[1][1], 2, b"")), 11, 1)
        check_hand(hand, header["lens"], header["seat"], events, chips_of, ledger)
    return header, hands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--log", action="append", default=[])
    parser.add_argument("--witness", action="append", default=[])
    parser.add_argument("--need", type=int, default=0)
    given = parser.parse_args()
    if not given.log:
        parser.error("a signature says nothing without the log's key: --log KEY, from another source than the bundle")
    try:
        for word in (*given.log, *given.witness):
            vkey(word)
        lines = Path(given.bundle).read_bytes().splitlines(keepends=True)
    except (OSError, ValueError, Wrong) as error:
        parser.error(str(error))
    try:
        header, hands = check(lines, given.log, given.witness, given.need)
    except Wrong as wrong:
        sys.exit(f"not verified: {wrong}")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        sys.exit(f"not verified: what stands there cannot be read ({error!r})")
    print(f"verified: {len(hands)} hand(s) of {header['house']}, as {header['lens']}")


if __name__ == "__main__":
    main()
