"""Machine code on disk, under the hash of all that it was made from; whatever is wrong with a
folder or a file there is a miss, and the code is made again.
"""

import contextlib
import functools
import hashlib
import logging
import os
import secrets
import sys
import threading
import time
from pathlib import Path

from funcgrad._version import __version__
from funcgrad.base.config import config

# The folder's name changes with the layout of the files in it.
FOLDER = "objects-1"
MAGIC = b"funcgrad object\n"
HEADER = len(MAGIC) + hashlib.sha256().digest_size

# What the folder of the user's cache may hold; a folder chosen by hand has no limit of its own.
DEFAULT_LIMIT = 1 << 30
# Files are removed, the longest unused first, down to this part of the limit.
KEPT = 0.75
STORES_PER_COUNT = 64  # after which the folder is measured again, as others write to it too
# Words that `compilation_cache` takes besides a folder.
ON, OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
TROUBLE = (OSError, ValueError)  # a path that no file can have is a ValueError
ABANDONED = 3600.0  # seconds after which a file half written is nobody's

_log = logging.getLogger(__name__)
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def name(*parts: str) -> str:
    """The file name of what is made from these texts by this version of funcgrad."""
    digest = hashlib.sha256()
    for part in (__version__, *parts):
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def build() -> str:
    """What tells this code of funcgrad from any other, also between versions: its files' dates."""
    package = Path(__file__).parent.parent
    dates = []
    for path in sorted(package.rglob("*.py")):
        status = path.stat()
        dates.append(f"{path.relative_to(package)} {status.st_size} {status.st_mtime_ns}")
    return name(*dates)


def user_folder() -> Path | None:
    """Where the platform keeps what a user's programs can make again; None if there is no home."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        base = Path(local) if local else home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(chosen) if os.path.isabs(chosen) else home / ".cache"
    return base / "funcgrad" if base.is_absolute() else None


def folder() -> tuple[Path | None, int]:
    """The folder in use, None for none, and how many bytes it may hold, -1 for any number."""
    where = config.compilation_cache or "on"
    limit = config.compilation_cache_max_size
    if not config.enable_compilation_cache or where.lower() in OFF or limit == 0:
        return None, 0
    chosen = config.compilation_cache_dir if where.lower() in ON else where
    if chosen is not None:
        return Path(os.path.expanduser(chosen)) / FOLDER, limit
    base = user_folder()
    return None if base is None else base / FOLDER, DEFAULT_LIMIT if limit < 0 else limit


def load(name: str) -> bytes | None:
    """What was stored under the name, or None: never stored, removed, damaged, not ours."""
    where, _ = folder()
    if where is None:
        return None
    path = where / name
    try:
        if not _trusted(where):
            return None
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except TROUBLE as error:
        _complain(error)
        return None
    data = content[HEADER:]
    if content[:HEADER] != _header(name, data):
        return None
    with contextlib.suppress(OSError):  # a folder that others fill may be read-only
        os.utime(path)  # what has been used last is removed last
    return data


def store(name: str, data: bytes) -> None:
    """Keep the bytes under the name, unless caching is off or the folder cannot be written."""
    where, limit = folder()
    if where is None or len(data) < config.persistent_cache_min_entry_size_bytes:
        return
    half = where / f".{name[:16]}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        os.makedirs(where, mode=0o700, exist_ok=True)
        if not _trusted(where):
            return
        try:
            half.write_bytes(_header(name, data) + data)
            os.replace(half, where / name)
        except OSError:
            half.unlink(missing_ok=True)
            raise
        _count(where, len(data) + HEADER, limit)
    except TROUBLE as error:
        _complain(error)


def clear() -> None:
    """Remove all that is kept in the folder in use."""
    where, _ = folder()
    if where is not None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, ValueError):
            _remove(where, 0)


def _header(name: str, data: bytes) -> bytes:
    """What must stand before the data: a file under another's name does not pass either."""
    digest = hashlib.sha256(name.encode())
    digest.update(data)
    return MAGIC + digest.digest()


def _trusted(where: Path) -> bool:
    """Whether only the owner and a group write there: what is loaded from it will be run."""
    status = os.stat(where)
    if os.name == "posix" and status.st_mode & 0o002:
        _complain(PermissionError(f"anyone may write to {where}; no code is kept there."))
        return False
    return True


def _complain(error: Exception) -> None:
    if config.raise_persistent_cache_errors:
        raise error
    _log.debug("compiled programs are not kept: %s", error)


_sizes: dict[Path, tuple[int, int]] = {}  # bytes in a folder, and stores since they were counted


def _count(where: Path, added: int, limit: int) -> None:
    """Remember what was added, and remove what is too much."""
    if limit < 0:
        return
    with _lock:
        size, stores = _sizes.get(where, (0, 0))
        size += added
        if stores % STORES_PER_COUNT == 0 or size > limit:
            size = _remove(where, limit)
        _sizes[where] = size, stores + 1


def _remove(where: Path, limit: int) -> int:
    """Remove files, longest unused first, if all are more than the limit; the bytes that stay."""
    files = _files(where)
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return total
    for _, size, path in sorted(files):
        if total <= KEPT * limit:
            break
        with contextlib.suppress(OSError):  # another process may have been first
            os.unlink(path)
        total -= size
    return total


def _files(where: Path) -> list[tuple[float, int, str]]:
    """When each file was last used, its bytes and its path; files half written stay out."""
    files, now = [], time.time()
    with os.scandir(where) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                half = entry.name.startswith(".")
                if not half or now - status.st_mtime > ABANDONED:
                    files.append((0.0 if half else status.st_mtime, status.st_size, entry.path))
    return files
