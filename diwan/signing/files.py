"""Small files that must be there whole: written beside, made durable, then put in their place."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a file of mode 0600 in the place of another; on disk when this returns, whole or not at all."""
    draft = _draft(path, text)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_new_file(path: Path, text: str) -> None:
    """Write a file of mode 0600 where none is; raises FileExistsError rather than replace another."""
    draft = _draft(path, text)
    try:
        # A link refuses to replace what is there.
        os.link(draft, path)
    finally:
        draft.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a folder's names durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft
