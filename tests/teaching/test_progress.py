"""Check that progress is written atomically, and that errors of its file never stop the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from shapecalc.teaching.progress import Progress, VisitorProgress, progress_path
from tests.tui.tables import table


@pytest.fixture
def file(tmp_path):
    return tmp_path / "data" / "lessons.json"


def test_progress_is_in_the_user_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert progress_path() == tmp_path / "shapecalc" / "lessons.json"
    Progress().mark_done("hole")
    assert Progress().done == {"hole"}


def test_progress_of_a_new_user_is_empty_and_silent(file):
    progress = Progress(file)
    assert (progress.done, progress.pop_error_message()) == (frozenset(), "")
    assert not file.parent.exists()


def test_progress_of_two_writers_is_merged(file):
    one, other = Progress(file), Progress(file)
    for lesson in ("hole", "allowzero", "hole"):
        one.mark_done(lesson)
    other.mark_done("expand")
    assert Progress(file).done == {"hole", "allowzero", "expand"}
    assert json.loads(file.read_text()) == {"done": ["allowzero", "expand", "hole"]}
    assert os.listdir(file.parent) == ["lessons.json"]


LARGE = ["[" * 100_000, '{"done": [' + '"hole",' * 200_000 + '"x"]}', "\udcff\udcfe"]


@pytest.mark.parametrize(
    "content", [*(row for (row,) in table("broken", "teaching")), *LARGE], ids=lambda content: ascii(content)[:30]
)
def test_progress_broken_file_is_reported_once(file, content):
    file.parent.mkdir()
    file.write_text(content, errors="surrogateescape")
    progress = Progress(file)
    assert progress.done == frozenset()
    backup = file.with_name("lessons.json.unreadable-1")
    assert progress.pop_error_message() == (
        f"progress starts anew: {file} does not hold a list of lessons; "
        f"it is renamed to {backup.name} before the next save"
    )
    assert progress.pop_error_message() == ""
    before = file.read_bytes()
    progress.mark_done("hole")
    assert progress.pop_error_message() == ""
    assert Progress(file).done == {"hole"}
    assert backup.read_bytes() == before


def test_progress_never_replaces_an_earlier_backup(file):
    file.parent.mkdir()
    for content in ("{", "[", "3"):
        file.write_text(content)
        Progress(file).mark_done("hole")
    assert sorted(os.listdir(file.parent)) == [
        "lessons.json",
        *[f"lessons.json.unreadable-{number}" for number in (1, 2, 3)],
    ]
    assert file.with_name("lessons.json.unreadable-2").read_text() == "["


def test_progress_unreadable_file_that_cannot_be_renamed_is_not_overwritten(file, monkeypatch):
    file.parent.mkdir()
    file.write_text("{")

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    progress = Progress(file)
    progress.pop_error_message()
    monkeypatch.setattr("shapecalc.teaching.progress.rename_and_sync", refuse)
    progress.mark_done("hole")
    assert progress.pop_error_message() == f"progress is not kept: {file} cannot be written: operation not permitted"
    assert (progress.done, file.read_text(), os.listdir(file.parent)) == ({"hole"}, "{", ["lessons.json"])


def test_progress_keeps_the_unknown_fields_of_a_newer_version(file):
    file.parent.mkdir()
    newer = {"done": ["new"], "drill": {"asked": 1, "right": 1, "medals": [3]}, "theme": {"name": "dark"}}
    file.write_text(json.dumps(newer))
    progress = Progress(file)
    progress.mark_done("hole")
    progress.record_answer("copied", 1, right=True)
    content = json.loads(file.read_text())
    assert (content["theme"], content["drill"]["medals"], content["done"]) == ({"name": "dark"}, [3], ["hole", "new"])
    assert (content["drill"]["asked"], progress.pop_error_message()) == (2, "")


ANSWER_EIGHT_TIMES = """
import sys
from pathlib import Path
from shapecalc.teaching.progress import Progress
progress = Progress(Path(sys.argv[1]))
for number in range(8):
    progress.record_answer(sys.argv[2], 1, right=True)
print(progress.pop_error_message(), end="")
"""


@pytest.mark.slow
def test_progress_of_eight_processes_keeps_every_answer(file):
    command = [sys.executable, "-c", ANSWER_EIGHT_TIMES, str(file)]
    writers = [subprocess.Popen([*command, f"kind{number}"], stdout=subprocess.PIPE, text=True) for number in range(8)]
    assert [writer.communicate()[0] for writer in writers] == [""] * 8
    tally = Progress(file).tally
    assert (tally.asked, tally.right) == (64, 64)
    assert tally.boxes.keys() == {f"kind{number}" for number in range(8)}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_progress_ignores_what_is_not_a_regular_file(file, make):
    file.parent.mkdir()
    make(file)
    progress = Progress(file)
    assert progress.done == frozenset()
    assert "does not hold a list of lessons" in progress.pop_error_message()
    progress.mark_done("hole")
    assert progress.done == {"hole"}


def test_progress_survives_a_removed_file(file):
    progress = Progress(file)
    progress.mark_done("hole")
    file.unlink()
    progress.mark_done("allowzero")
    assert Progress(file).done == {"hole", "allowzero"}
    assert progress.pop_error_message() == ""


def test_progress_reports_an_unwritable_folder_once(tmp_path):
    (tmp_path / "data").write_text("in the way")
    progress = Progress(tmp_path / "data" / "lessons.json")
    progress.mark_done("hole")
    progress.mark_done("allowzero")
    assert progress.done == {"hole", "allowzero"}
    assert progress.pop_error_message().startswith(
        f"progress is not kept: {tmp_path / 'data' / 'lessons.json'} cannot be written: "
    )
    assert progress.pop_error_message() == ""


def test_progress_failed_write_keeps_the_old_file(file, monkeypatch):
    Progress(file).mark_done("hole")

    def fail_full(*_):
        raise OSError(28, "No space left on device")

    progress = Progress(file)
    monkeypatch.setattr(os, "fsync", fail_full)
    progress.mark_done("allowzero")
    assert progress.pop_error_message() == f"progress is not kept: {file} cannot be written: no space left on device"
    assert Progress(file).done == {"hole"}
    assert os.listdir(file.parent) == ["lessons.json"]


def test_progress_failed_read_is_empty(file, monkeypatch):
    Progress(file).mark_done("hole")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shapecalc.teaching.progress.Path.read_text", refuse)
    progress = Progress(file)
    assert (progress.done, progress.pop_error_message()) == (
        frozenset(),
        f"progress starts anew: {file} cannot be read: permission denied; "
        "it is renamed to lessons.json.unreadable-1 before the next save",
    )


def test_progress_counts_answers_and_streaks(file):
    progress = Progress(file)
    for right in (True, True, False, True):
        progress.record_answer("copied", int(right), right=right)
    assert Progress(file).tally == progress.tally
    assert str(progress.tally) == "3 of 4 right, streak 1, best 2"
    assert json.loads(file.read_text())["drill"]["boxes"] == {"copied": 1}


def test_progress_keeps_lessons_and_answers_together(file):
    one, other = Progress(file), Progress(file)
    one.record_answer("copied", 1, right=True)
    other.mark_done("hole")
    one.record_answer("inferred", 1, right=True)
    progress = Progress(file)
    assert (progress.done, progress.tally.asked) == ({"hole"}, 2)


def test_progress_of_a_visitor_is_temporary(data_folder):
    visit = VisitorProgress()
    visit.record_answer("copied", 1, right=True)
    visit.mark_done("hole")
    assert (visit.done, visit.tally.right) == ({"hole"}, 1)
    assert VisitorProgress().tally.asked == 0
    assert not data_folder.exists()
