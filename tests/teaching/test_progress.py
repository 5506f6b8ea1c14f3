"""Check that progress is written atomically, and that errors of its file never stop the program."""

from __future__ import annotations

import json
import os

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
    assert (progress.done, progress.pop_complaint()) == (frozenset(), "")
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
    assert progress.pop_complaint() == f"progress is not kept: {file} does not hold a list of lessons"
    assert progress.pop_complaint() == ""
    progress.mark_done("hole")
    assert progress.pop_complaint() == ""
    assert Progress(file).done == {"hole"}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_progress_ignores_what_is_not_a_regular_file(file, make):
    file.parent.mkdir()
    make(file)
    progress = Progress(file)
    assert progress.done == frozenset()
    assert "does not hold a list of lessons" in progress.pop_complaint()
    progress.mark_done("hole")
    assert progress.done == {"hole"}


def test_progress_survives_a_removed_file(file):
    progress = Progress(file)
    progress.mark_done("hole")
    file.unlink()
    progress.mark_done("allowzero")
    assert Progress(file).done == {"hole", "allowzero"}
    assert progress.pop_complaint() == ""


def test_progress_reports_an_unwritable_folder_once(tmp_path):
    (tmp_path / "data").write_text("in the way")
    progress = Progress(tmp_path / "data" / "lessons.json")
    progress.mark_done("hole")
    progress.mark_done("allowzero")
    assert progress.done == {"hole", "allowzero"}
    assert progress.pop_complaint().startswith(
        f"progress is not kept: {tmp_path / 'data' / 'lessons.json'} cannot be written: "
    )
    assert progress.pop_complaint() == ""


def test_progress_failed_write_keeps_the_old_file(file, monkeypatch):
    Progress(file).mark_done("hole")

    def fail_full(*_):
        raise OSError(28, "No space left on device")

    progress = Progress(file)
    monkeypatch.setattr(os, "fsync", fail_full)
    progress.mark_done("allowzero")
    assert progress.pop_complaint() == f"progress is not kept: {file} cannot be written: No space left on device"
    assert Progress(file).done == {"hole"}
    assert os.listdir(file.parent) == ["lessons.json"]


def test_progress_failed_read_is_empty(file, monkeypatch):
    Progress(file).mark_done("hole")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shapecalc.teaching.progress.Path.read_text", refuse)
    progress = Progress(file)
    assert (progress.done, progress.pop_complaint()) == (
        frozenset(),
        f"progress is not kept: {file} cannot be read: Permission denied",
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
