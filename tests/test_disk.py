"""The folder of compiled code: what comes back is what was stored, and any damage is a miss."""

import hashlib
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from funcgrad.base.config import Config, config
from funcgrad.compiler import disk

LENGTHS = (0, 1, 31, 4096, 70_000)


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder of its own for each test, where the objects lie."""
    disk._sizes.clear()
    with Config.compilation_cache(str(tmp_path)):
        yield tmp_path / disk.FOLDER


def data(length: int, seed: int = 0) -> bytes:
    block = hashlib.sha256(b"%d" % seed).digest()
    return (block * (length // 32 + 1))[:length]


@pytest.mark.parametrize("length", LENGTHS)
def test_what_was_stored_comes_back(home: Path, length: int) -> None:
    name = disk.name("text", str(length))
    assert disk.load(name) is None
    disk.store(name, data(length))
    assert disk.load(name) == data(length)
    assert disk.load(disk.name("text", "other")) is None
    disk.store(name, data(length, 1))
    assert disk.load(name) == data(length, 1)
    assert [p.name for p in home.iterdir()] == [name]


def test_names_tell_everything_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {
        disk.name(*parts) for parts in (("a", "b"), ("ab",), ("ab", ""), ("", "ab"), ("b", "a"))
    }
    seen.add(disk.name("1:a", "b"))
    assert len(seen) == 6
    assert disk.name("a", "b") in seen
    monkeypatch.setattr(disk, "__version__", "another")
    assert disk.name("a", "b") not in seen


def test_build_changes_with_the_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert disk.build() == disk.build()
    package = tmp_path / "package"
    (package / "compiler").mkdir(parents=True)
    source = package / "compiler" / "disk.py"
    source.write_text("one")
    monkeypatch.setattr(disk, "__file__", str(source))
    first = disk.build.__wrapped__()
    assert first == disk.build.__wrapped__() != disk.build()
    os.utime(source, (1, 1))
    assert disk.build.__wrapped__() != first


@pytest.mark.parametrize("length", LENGTHS)
def test_truncated_and_longer_files_are_misses(home: Path, length: int) -> None:
    name = disk.name("cut", str(length))
    disk.store(name, data(length))
    whole = (home / name).read_bytes()
    assert len(whole) == disk.HEADER + length
    header = disk.HEADER
    for cut in {0, 1, len(disk.MAGIC), header - 1, header, header + length // 2, len(whole) - 1}:
        if cut < len(whole):
            (home / name).write_bytes(whole[:cut])
            assert disk.load(name) is None, cut
    (home / name).write_bytes(whole + b"\0")
    assert disk.load(name) is None
    disk.store(name, data(length))
    assert disk.load(name) == data(length)


def test_every_flipped_bit_is_a_miss(home: Path) -> None:
    name = disk.name("flip")
    disk.store(name, data(40))
    whole = (home / name).read_bytes()
    for position in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        (home / name).write_bytes(damaged)
        assert disk.load(name) is None, position
    (home / name).write_bytes(whole)
    assert disk.load(name) == data(40)


def test_a_file_under_another_name_is_a_miss(home: Path) -> None:
    first, second = disk.name("first"), disk.name("second")
    disk.store(first, data(100))
    os.rename(home / first, home / second)
    assert disk.load(first) is disk.load(second) is None


def test_foreign_things_are_misses(home: Path) -> None:
    name = disk.name("foreign")
    home.mkdir()
    (home / name).write_bytes(b"\x7fELF" + data(200))
    assert disk.load(name) is None
    (home / name).unlink()
    (home / name).mkdir()
    assert disk.load(name) is None
    disk.store(name, data(10))  # cannot replace a folder
    assert disk.load(name) is None
    assert [p.name for p in home.iterdir()] == [name]  # nothing half written stays
    (home / name).rmdir()
    (home / name).symlink_to(home / "nowhere")
    assert disk.load(name) is None
    disk.store(name, data(10))
    assert disk.load(name) == data(10)


def test_permissions_of_what_is_made(home: Path) -> None:
    disk.store(disk.name("x"), data(10))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_folder_that_anyone_may_write_is_not_used(home: Path) -> None:
    name = disk.name("x")
    disk.store(name, data(10))
    home.chmod(0o777)
    assert disk.load(name) is None
    disk.store(disk.name("y"), data(10))
    assert len(list(home.iterdir())) == 1
    with Config.raise_persistent_cache_errors(True), pytest.raises(PermissionError, match="anyone"):
        disk.load(name)
    home.chmod(0o700)
    assert disk.load(name) == data(10)


@pytest.mark.parametrize(
    "call", ["read_bytes", "write_bytes", "replace", "makedirs", "stat", "scandir"]
)
def test_refusals_are_silent_unless_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture, call: str
) -> None:
    name, other = disk.name("x"), disk.name("y")
    disk.store(name, data(10))
    disk._sizes.clear()

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, f"{call} is refused")

    owner = Path if call.endswith("bytes") else os
    with monkeypatch.context() as patch, Config.compilation_cache_max_size(1 << 20):
        patch.setattr(owner, call, refuse)
        found = disk.load(name)
        assert found == (None if call in ("read_bytes", "stat") else data(10))
        disk.store(other, data(10))
        with Config.raise_persistent_cache_errors(True), pytest.raises(PermissionError, match=call):
            disk.load(name)
            disk._sizes.clear()
            disk.store(other, data(10))
    assert disk.load(name) == data(10)
    assert [p.name for p in home.iterdir() if p.name.startswith(".")] == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "setuid") or os.getuid() != 0, reason="drops root's rights")
def test_read_only_folder_still_serves(home: Path) -> None:
    name = disk.name("x")
    disk.store(name, data(10))
    for folder in (home, home.parent):
        folder.chmod(0o555)
    for folder in home.parents:
        if folder.stat().st_uid == 0 and folder.name.startswith(("pytest", "popen")):
            folder.chmod(0o755)

    def child() -> int:
        os.setuid(65534)
        disk.store(disk.name("y"), data(10))
        return 7 if disk.load(name) == data(10) and disk.load(disk.name("y")) is None else 1

    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = child()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert [p.name for p in home.iterdir()] == [name]


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for folder in (str(file), str(file / "below"), "/proc/nowhere", "bad\0name"):
        with Config.compilation_cache(folder):
            disk.store(disk.name("x"), data(10))
            assert disk.load(disk.name("x")) is None, folder
            disk.clear()


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_off(home: Path, word: str) -> None:
    with Config.compilation_cache(word):
        assert disk.folder() == (None, 0)
        disk.store(disk.name("x"), data(10))
        assert disk.load(disk.name("x")) is None
        disk.clear()
    with Config.enable_compilation_cache(False):
        disk.store(disk.name("x"), data(10))
    with Config.compilation_cache_max_size(0):
        disk.store(disk.name("x"), data(10))
    assert not home.exists()


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Config.compilation_cache("on"):
        assert disk.folder() == (tmp_path / "xdg" / "funcgrad" / disk.FOLDER, 1 << 30)
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard says to ignore
        assert disk.user_folder() == tmp_path / "home" / ".cache" / "funcgrad"
        with Config.compilation_cache_dir("~/mine"):
            assert disk.folder() == (tmp_path / "home" / "mine" / disk.FOLDER, -1)
            with Config.compilation_cache_max_size(5):
                assert disk.folder()[1] == 5
    monkeypatch.setattr(disk.sys, "platform", "darwin")
    assert disk.user_folder() == tmp_path / "home" / "Library" / "Caches" / "funcgrad"
    monkeypatch.setattr(disk.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert disk.user_folder() == tmp_path / "local" / "funcgrad"


def test_environment() -> None:
    code = "from funcgrad.compiler import disk; print(*disk.folder())"
    for variables, printed in (
        ({"FUNCGRAD_COMPILATION_CACHE": "off"}, "None 0"),
        ({"FUNCGRAD_COMPILATION_CACHE": "/a"}, f"/a/{disk.FOLDER} -1"),
        ({"FUNCGRAD_COMPILATION_CACHE_DIR": "/b"}, f"/b/{disk.FOLDER} -1"),
        (
            {"FUNCGRAD_COMPILATION_CACHE_MAX_SIZE": "9", "XDG_CACHE_HOME": "/c"},
            f"/c/funcgrad/{disk.FOLDER} 9",
        ),
    ):
        environment = {"PYTHONPATH": ":".join(p for p in sys.path if p), **variables}
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert run.stdout.strip() == printed, run.stderr


def test_small_entries_may_be_left_out(home: Path) -> None:
    with Config.persistent_cache_min_entry_size_bytes(11):
        disk.store(disk.name("x"), data(10))
        disk.store(disk.name("y"), data(11))
    assert disk.load(disk.name("x")) is None and disk.load(disk.name("y")) == data(11)


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_the_longest_unused_go_first(home: Path) -> None:
    names = [disk.name(str(n)) for n in range(10)]
    size = 1000 + disk.HEADER
    with Config.compilation_cache_max_size(10 * size):
        for n, name in enumerate(names):
            disk.store(name, data(1000, n))
            age(home / name, 100 - n)
        assert disk.load(names[0]) == data(1000, 0)  # used again, so now the last to go
        disk.store(disk.name("one more"), data(1000))
        left = {p.name for p in home.iterdir()}
        assert sum(p.stat().st_size for p in home.iterdir()) <= 0.75 * 10 * size
        assert left == {names[0], disk.name("one more"), *names[-5:]}


def test_the_limit_counts_what_others_wrote(home: Path) -> None:
    home.mkdir()
    for n in range(20):
        (home / disk.name("other", str(n))).write_bytes(data(1000))
        age(home / disk.name("other", str(n)), 1000)
    with Config.compilation_cache_max_size(10_000):
        disk.store(disk.name("mine"), data(1000))
        assert sum(p.stat().st_size for p in home.iterdir()) <= 7500
        assert disk.load(disk.name("mine")) == data(1000)
        for n in range(20):
            (home / disk.name("other", str(n))).write_bytes(data(1000))
        for n in range(disk.STORES_PER_COUNT):  # small ones, far from the limit by themselves
            disk.store(disk.name("mine", str(n)), b"")
        assert sum(p.stat().st_size for p in home.iterdir()) <= 10_000


def test_an_entry_above_the_limit_does_no_harm(home: Path) -> None:
    with Config.compilation_cache_max_size(500):
        disk.store(disk.name("x"), data(1000))
        assert disk.load(disk.name("x")) is None
        disk.store(disk.name("y"), data(100))
        assert disk.load(disk.name("y")) == data(100)


def test_abandoned_halves_are_removed(home: Path) -> None:
    home.mkdir()
    for name in (".old", ".young"):
        (home / name).write_bytes(data(1000))
    age(home / ".old", 2 * disk.ABANDONED)
    with Config.compilation_cache_max_size(500):
        disk.store(disk.name("x"), data(100))
    assert {p.name for p in home.iterdir()} == {".young", disk.name("x")}


def test_clear(home: Path) -> None:
    disk.clear()
    disk.store(disk.name("x"), data(10))
    disk.store(disk.name("y"), b"")
    disk.clear()
    assert list(home.iterdir()) == [] and disk.load(disk.name("x")) is None
    disk.store(disk.name("x"), data(10))
    assert disk.load(disk.name("x")) == data(10)


def hammer(folder: str, seed: int, limit: int) -> int:
    """Store, load and shrink against others; the number of loads that gave the wrong bytes."""
    config.update("compilation_cache", folder)
    config.update("compilation_cache_max_size", limit)
    config.update("raise_persistent_cache_errors", True)
    wrong = 0
    for round in range(150):
        n = (round * 7 + seed) % 23
        name = disk.name("shared", str(n))
        found = disk.load(name)
        wrong += found is not None and found != data(1000 + n, n)
        disk.store(name, data(1000 + n, n))
    return wrong


@pytest.mark.parametrize("limit", [-1, 12_000])
def test_many_processes_at_once(tmp_path: Path, limit: int) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as processes:
        tasks = [(str(tmp_path), seed, limit) for seed in range(6)]
        assert processes.starmap(hammer, tasks) == [0] * 6
    files = list((tmp_path / disk.FOLDER).iterdir())
    assert files and all(not file.name.startswith(".") for file in files)


def test_many_threads_at_once(tmp_path: Path) -> None:
    results: list[int] = []
    before = {n: config.read(n) for n in ("compilation_cache", "compilation_cache_max_size")}
    try:
        threads = [
            threading.Thread(target=lambda s=s: results.append(hammer(str(tmp_path), s, 12_000)))
            for s in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for name, value in before.items():
            config.update(name, value)
        config.update("raise_persistent_cache_errors", False)
    assert results == [0] * 4
