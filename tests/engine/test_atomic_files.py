"""Atomic writes: existing files, concurrent and killed writers, and systems without links or locks."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
import re
import resource
import signal
import stat
from contextlib import nullcontext, suppress
from pathlib import Path
from platform import node

import numpy as np
import pytest

from shapecalc.engine import atomic_files
from shapecalc.engine.atomic_files import atomic_file, open_report_file
from shapecalc.engine.processes import SignalGuard
from shapecalc.teaching.progress import Progress
from tests.core.test_layers import SOURCES
from tests.models import detector


def refuse(*_, **__):
    raise PermissionError(1, "Operation not permitted")


def refusing_open_files(call):
    """Return the call, refused for a file that is open or mapped."""

    def check_and_call(path, *new):
        opened = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
        same = [each for each in opened if os.path.exists(each) and os.path.exists(path)]
        if str(path) in Path("/proc/self/maps").read_text() or any(os.path.samefile(path, each) for each in same):
            raise PermissionError(13, "The process cannot access the file because it is being used by another process")
        return call(path, *new)

    return check_and_call


def without_locks(monkeypatch):
    monkeypatch.setattr(atomic_files, "TMPFILE_FLAG", 0)
    monkeypatch.setattr(atomic_files, "fcntl", None)
    for name in ("link", "replace", "unlink"):
        monkeypatch.setattr(os, name, refusing_open_files(getattr(os, name)))


def without_links(monkeypatch):
    monkeypatch.setattr(atomic_files, "TMPFILE_FLAG", 0)
    monkeypatch.setattr(os, "link", refuse)


SYSTEMS = {
    "all": lambda _: None,
    "no unnamed files": lambda monkeypatch: monkeypatch.setattr(atomic_files, "TMPFILE_FLAG", 0),
    "no links": without_links,
    "no locks": without_locks,
}


@pytest.fixture(params=SYSTEMS.values(), ids=SYSTEMS)
def _system(request, monkeypatch):
    request.param(monkeypatch)


every_system = pytest.mark.usefixtures("_system")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def write(target, data=b"new", **options):
    with atomic_file(target, **options) as file:
        file.write(data)


def part_of(target, random="0123456789abcdef", host=None):
    return target.with_name(f".{target.name[:40]}.{(host or node())[:40]}.{random}.part")


def names(folder):
    return sorted(os.listdir(folder))


def is_write(call):
    """Return whether a call writes a file."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    names = {"write_text", "write_bytes", "save", "savez", "NamedTemporaryFile", "mkstemp", "replace", "rename", "link"}
    opens = call.func.attr == "open" and any(getattr(each, "value", None) in ("wb", "w") for each in call.args)
    has_path = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred) and not call.keywords
    return opens or (call.func.attr in names and has_path)


@pytest.mark.slow
def test_only_one_module_writes_files():
    writers = [name for name, source in SOURCES.items() if any(map(is_write, ast.walk(ast.parse(source))))]
    assert writers == ["shapecalc.engine.atomic_files"]


def reads_strerror(node):
    """Return whether a node reads the message of the system out of an `OSError`."""
    names = (getattr(node, "attr", None), getattr(node, "value", None))
    return "strerror" in names and ast.unparse(getattr(node, "value", node)) != "os"


def test_only_one_module_words_system_errors():
    readers = [name for name, source in SOURCES.items() if any(map(reads_strerror, ast.walk(ast.parse(source))))]
    assert readers == ["shapecalc.core.problem"]


@every_system
def test_atomic_file_creates_the_complete_file(tmp_path):
    os.umask(before := os.umask(0))
    write(tmp_path / "y")
    assert ((tmp_path / "y").read_bytes(), names(tmp_path)) == (b"new", ["y"])
    assert stat.S_IMODE((tmp_path / "y").stat().st_mode) == 0o666 & ~before
    with pytest.raises(ZeroDivisionError), atomic_file(tmp_path / "z") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert names(tmp_path) == ["y"]


@every_system
def test_atomic_file_without_force_never_overwrites(tmp_path, monkeypatch):
    target = tmp_path / "y"
    (tmp_path / "link").symlink_to("nowhere")
    for come in (lambda: target.write_bytes(b"first"), lambda: write(target, b"first")):
        target.unlink(missing_ok=True)
        with pytest.raises(FileExistsError), atomic_file(target) as late:
            late.write(b"late")
            come()
        assert (target.read_bytes(), names(tmp_path)) == (b"first", ["link", "y"])
        for there in (target, tmp_path / "link"):
            with pytest.raises(FileExistsError):
                write(there)
        monkeypatch.setattr(atomic_files, "_check_target", lambda *_, **__: None)


@every_system
def test_atomic_file_force_keeps_mode_owner_and_links(tmp_path):
    target = tmp_path / "y"
    target.write_bytes(b"old")
    target.chmod(0o600)
    if IS_ROOT:
        os.chown(target, 12345, 23456)
    before = target.stat()
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "second").symlink_to("link")
    write(tmp_path / "second", force=True)
    found = target.stat()
    assert (target.read_bytes(), stat.S_IMODE(found.st_mode)) == (b"new", 0o600)
    assert (found.st_uid, found.st_gid) == (before.st_uid, before.st_gid)
    assert (names(tmp_path), (tmp_path / "second").is_symlink()) == (["link", "second", "y"], True)


def test_atomic_file_unavailable_group_falls_back_to_others(tmp_path, monkeypatch):
    target = tmp_path / "y"
    target.write_bytes(b"old")
    target.chmod(0o664)
    other = os.stat_result([*target.stat()[:5], os.getgid() + 1, *target.stat()[6:]])

    monkeypatch.setattr(os, "fchown", refuse)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: other)
    with target.open("r+b") as file:
        atomic_files._copy_mode_and_owner(file.fileno(), target)
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o644


@every_system
def test_atomic_file_refuses_special_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "device").symlink_to(os.devnull)
    for name in ("pipe", "loop", "device", "."):
        with pytest.raises(OSError, match="it is not a regular file"):
            write(tmp_path / name, force=True)
    with pytest.raises(OSError, match="it is not a regular file"), atomic_file(tmp_path / "late", force=True):
        os.mkfifo(tmp_path / "late")
    assert names(tmp_path) == ["device", "late", "loop", "pipe"]
    assert (tmp_path / "late").is_fifo()
    with open_report_file(tmp_path / "device") as file:
        file.write(b"new")
    with pytest.raises(OSError, match="it is not a regular file"), open_report_file(tmp_path):
        pass


@every_system
def test_atomic_file_ignores_foreign_temporary_files(tmp_path):
    target = tmp_path / "y"
    held, planted = part_of(target, "1" * 16), tmp_path / f".shapecalc-{os.getpid()}.part"
    kept = [planted, part_of(target, "2" * 16, "elsewhere"), part_of(target, "short"), part_of(tmp_path / "z")]
    for each in (held, *kept):
        each.write_bytes(b"planted")
    os.mkfifo(part_of(target, "3" * 16))
    part_of(target, "4" * 16).symlink_to(planted)
    (store := part_of(target, "5" * 16)).mkdir()
    with held.open("r+b") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        write(target)
        remaining = {*kept, part_of(target, "3" * 16), part_of(target, "4" * 16), store, target}
        assert {*tmp_path.iterdir()} - {held} == remaining
        assert held.exists()
    assert (target.read_bytes(), planted.read_bytes()) == (b"new", b"planted")


@pytest.mark.parametrize(
    "another", [False, pytest.param(True, marks=pytest.mark.skipif(not IS_ROOT, reason="no root"))]
)
@pytest.mark.parametrize("name", ["y", "ä" * 120])
def test_atomic_file_removes_leftovers_of_the_same_user(tmp_path, name, another):
    left = part_of(tmp_path / name)
    left.write_bytes(b"left over")
    os.chown(left, 12345 if another else -1, -1)
    write(tmp_path / name)
    assert left.exists() == another


def test_atomic_file_recreates_a_removed_temporary_file(tmp_path, monkeypatch):
    SYSTEMS["no unnamed files"](monkeypatch)
    lock, taken = atomic_files._lock_file, []

    def remove_and_lock(descriptor):
        if not taken:
            taken.extend(tmp_path.iterdir())
            taken[0].unlink()
        lock(descriptor)

    monkeypatch.setattr(atomic_files, "_lock_file", remove_and_lock)
    write(tmp_path / "y")
    assert (len(taken), names(tmp_path)) == (1, ["y"])


@every_system
def test_atomic_file_rolls_back_on_signals(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "y") as file:
        file.write(b"half")
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "y"), suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)  # the suppressed exception still cancels the write
    assert names(tmp_path) == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_atomic_file_keeps_ignored_signals_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SignalGuard():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


WRITERS = {
    "array": "reshape x.npy 2,3 -o y.npy",
    "picture": "reshape 2,3 6 --picture y.svg",
    "film": "film reshape 2,3 6 -o y.html",
    "worksheet": "drill --print 2 --seed a -o y.txt",
    "model": "model x.onnx --fix -o y.onnx",
}
"""Command lines that write a new file, their last word."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("line", WRITERS.values(), ids=WRITERS)
def test_atomic_file_second_command_is_refused(line, shapecalc, tmp_path, monkeypatch):
    if line.startswith("model"):
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed, which proves a model")
        detector.write(tmp_path / "x.onnx")
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(6))
    target, before = Path(line.split()[-1]), names(".")
    assert shapecalc(*line.split()).code == 0
    assert names(".") == sorted([*before, target.name])
    target.write_text("another's")
    for _ in range(2):
        ran = shapecalc(*line.split())
        assert (ran.code, f"{target}: it exists" in ran.err, target.read_text()) == (4, True, "another's")
        monkeypatch.setattr(atomic_files, "_check_target", lambda *_, **__: None)
    assert names(".") == sorted([*before, target.name])


def replace_a_folder(folder):
    (folder / "new").mkdir()
    (folder / "y").mkdir()
    (folder / "part").mkdir()
    atomic_files.replace_folder(folder / "new", folder / "y", folder / "part" / "backup")


def restore_a_folder(folder):
    (folder / "part" / "backup").mkdir(parents=True)
    atomic_files.restore_backup(folder / "y", folder / "part" / "backup")


def save_over_unreadable_progress(folder):
    (folder / "lessons.json").write_text("{")
    Progress(folder / "lessons.json").mark_done("hole")


RENAMERS = {
    "new file": lambda folder: write(folder / "y"),
    "other file": lambda folder: [write(folder / "y"), write(folder / "y", force=True)],
    "deep files": lambda folder: atomic_files.write_files([(folder / "a" / "b" / "y", b"1")], folder),
    "folder": replace_a_folder,
    "restored folder": restore_a_folder,
    "unreadable progress": save_over_unreadable_progress,
}
"""The functions that give a file or a folder its final name, by what they write."""


@pytest.fixture
def unflushed(monkeypatch):
    """Return the set of the folders in which names have changed since the folder was flushed."""
    folders = set()

    def watch(name):
        call = getattr(os, name)

        def record(old, new, **options):
            call(old, new, **options)
            folders.update({os.path.realpath(Path(path).parent) for path in (old, new) if str(path)[:6] != "/proc/"})

        monkeypatch.setattr(os, name, record)

    def flush(descriptor):
        fsync(descriptor)
        folders.discard(os.readlink(f"/proc/self/fd/{descriptor}"))

    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", flush)
    for name in ("link", "rename", "replace"):
        watch(name)
    return folders


@pytest.mark.parametrize("write_in", RENAMERS.values(), ids=RENAMERS)
def test_rename_flushes_both_folders(write_in, tmp_path, unflushed):
    write_in(tmp_path)
    assert unflushed == set()


@pytest.mark.parametrize(
    ("call", "code", "is_reported"),
    [
        ("open", errno.EACCES, False),
        ("fsync", errno.EINVAL, False),
        ("fsync", errno.EIO, True),
        ("open", errno.EMFILE, True),
    ],
)
def test_rename_flush_failures_are_reported_unless_unsupported(call, code, is_reported, tmp_path, monkeypatch):
    wanted = getattr(os, call)

    def fail_for_folders(target, *words, **options):
        status = os.fstat(target) if call == "fsync" else os.stat(target)
        if stat.S_ISDIR(status.st_mode) and not (words and words[0] & atomic_files.TMPFILE_FLAG == os.O_TMPFILE):
            raise OSError(code, os.strerror(code))
        return wanted(target, *words, **options)

    monkeypatch.setattr(os, call, fail_for_folders)
    with pytest.raises(OSError, match=re.escape(os.strerror(code))) if is_reported else nullcontext():
        write(tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == b"new"


FULL = {
    "x.npy": ("reshape x.npy 1024,1024 -o y.npy --force", "y.npy: [^\n]+\n"),
    "cases": ("check --update cases", "cases: file too large\nshapecalc: [0-9,]+ failed\n"),
}
"""The command line and its message on a full disk, by the file read."""


@pytest.mark.parametrize("read", FULL)
def test_atomic_file_full_disk_keeps_the_old_file(read, shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros(1 << 20, np.uint8))
    for name in ("y.npy", "cases"):
        Path(name).write_text(f"reshape 2,3 -1 => 7 # {'why ' * 60}\n" * 500)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, limits[1]))
    try:
        ran = shapecalc(*FULL[read][0].split())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (ran.code, "updated" in ran.out + ran.err) == (4, False)
    assert re.fullmatch(f"shapecalc: file: {FULL[read][1]}", ran.err)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
