"""The witness of a stack on one machine: made in its data directory, beside the secret that it watches over.

Run by the same people on the same disk, it proves nothing to others, but checkpoints are cosigned from the first hand on,
and a restored backup is noticed. Somebody else's witnesses come by a policy of one's own (docs/operating/register.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from diwan.chassis.embedded.files import write_private
from diwan.cli.stack.layout import Layout
from diwan.core.transparency.checkpoint import origin_of
from diwan.core.transparency.note import NoteMalformed, VerifierKey
from diwan.core.transparency.policy import Group, Log, Policy, Witness, parse_policy, policy_text
from diwan.signing.notekey import LogSecret
from diwan.witness.folder import Folder

HOUSE: Final = "diwan.local"
REGISTERED_FEEDS: Final = (1, 2, 3, 4)
_MADE_HERE: Final = "# Written anew at every start of this stack. Replace this line to keep a policy of your own.\n"


def prepare_witness(layout: Layout, address: str, house: str = HOUSE) -> Folder:
    """Make the register's secret, the witness and the policy where they are missing; the witness knows every log."""
    logs = log_keys(LogSecret.load_or_generate(layout.register_key), house)
    if layout.register_old_key.exists():
        logs += log_keys(LogSecret.load(layout.register_old_key), house)
    folder = Folder(layout.witness)
    if not folder.key_file.exists():
        folder.init(f"{house}/witness")
    for key in logs:
        folder.trust(key.text)
    if _is_ours(layout):
        write_private(layout.register_policy, _MADE_HERE + _policy(folder, logs, f"http://{address}"))
    return folder


def chosen_address(layout: Layout) -> str:
    """Return where a policy of one's own says that this stack's witness answers; nothing where it is not said.

    Nobody writes such a policy anew at a start, so the witness has to be found where it was.
    """
    folder = Folder(layout.witness)
    if _is_ours(layout) or not folder.key_file.exists():
        return ""
    keys = {key.verifier for key in folder.signing_keys()}
    try:
        policy = parse_policy(layout.register_policy.read_text("utf-8"))
        urls = [urlsplit(one.url) for one in policy.witnesses.values() if one.key in keys]
        return next((url.netloc for url in urls if url.scheme == "http" and url.hostname and url.port), "")
    except (NoteMalformed, ValueError):
        # The audit, which goes by this file, says what is wrong with it.
        return ""


def log_keys(secret: LogSecret, house: str, feeds: Iterable[int] = REGISTERED_FEEDS) -> list[VerifierKey]:
    """Return the public keys of a house's logs."""
    return [secret.key(origin_of(house, feed_id)).verifier for feed_id in feeds]


def _is_ours(layout: Layout) -> bool:
    try:
        return layout.register_policy.read_bytes().startswith(_MADE_HERE.encode())
    except FileNotFoundError:
        return True


def _policy(folder: Folder, logs: Iterable[VerifierKey], url: str) -> str:
    # While an older key still signs beside the new one, either is enough: nobody's copy of the policy is outdated by it.
    names = ("witness", "witness-before")
    keys = zip(names, folder.signing_keys(), strict=False)
    witnesses = {name: Witness(name, key.verifier, url) for name, key in keys}
    group = Group(1, tuple(witnesses))
    return policy_text(Policy(tuple(map(Log, logs)), witnesses, {"house": group}, "house"))
