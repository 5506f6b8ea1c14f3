"""Progress is kept whole or not at all, and nothing that befalls its file reaches the program."""

from __future__ import annotations

import json
import os

import pytest

from shapecalc.teaching import progress
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
    found = Progress(file)
    assert (found.done, found.pop_complaint()) == (frozenset(), "")
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
    found = Progress(file)
    assert found.done == frozenset()
    assert found.pop_complaint() == f"progress is not kept: {file} does not hold a list of lessons"
    assert found.pop_complaint() == ""
    found.mark_done("hole")
    assert found.pop_complaint() == ""
    assert Progress(file).done == {"hole"}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_progress_ignores_what_is_not_a_regular_file(file, make):
    file.parent.mkdir()
    make(file)
    found = Progress(file)
    assert found.done == frozenset()
    assert "does not hold a list of lessons" in found.pop_complaint()
    found.mark_done("hole")
    assert found.done == {"hole"}


def test_progress_survives_a_removed_file(file):
    found = Progress(file)
    found.mark_done("hole")
    file.unlink()
    found.mark_done("allowzero")
    assert Progress(file).done == {"hole", "allowzero"}
    assert found.pop_complaint() == ""


def test_progress_reports_an_unwritable_folder_once(tmp_path):
    (tmp_path / "data").write_text("in the way")
    found = Progress(tmp_path / "data" / "lessons.json")
    found.mark_done("hole")
    found.mark_done("allowzero")
    assert found.done == {"hole", "allowzero"}
    assert found.pop_complaint().startswith(
        f"progress is not kept: {tmp_path / 'data' / 'lessons.json'} cannot be written: "
    )
    assert found.pop_complaint() == ""


def test_progress_failed_write_keeps_the_old_file(file, monkeypatch):
    Progress(file).mark_done("hole")

    def full(*_):
        raise OSError(28, "No space left on device")

    found = Progress(file)
    monkeypatch.setattr(os, "fsync", full)
    found.mark_done("allowzero")
    assert found.pop_complaint() == f"progress is not kept: {file} cannot be written: No space left on device"
    assert Progress(file).done == {"hole"}
    assert os.listdir(file.parent) == ["lessons.json"]


def test_progress_failed_read_is_empty(file, monkeypatch):
    Progress(file).mark_done("hole")

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(progress.Path, "read_text", refused)
    found = Progress(file)
    assert (found.done, found.pop_complaint()) == (
        frozenset(),
        f"progress is not kept: {file} cannot be read: Permission denied",
    )


def test_progress_counts_answers_and_streaks(file):
    found = Progress(file)
    for right in (True, True, False, True):
        found.record_answer("copied", int(right), right=right)
    assert Progress(file).tally == found.tally
    assert str(found.tally) == "3 of 4 right, streak 1, best 2"
    assert json.loads(file.read_text())["drill"]["boxes"] == {"copied": 1}


def test_progress_keeps_lessons_and_answers_together(file):
    one, other = Progress(file), Progress(file)
    one.record_answer("copied", 1, right=True)
    other.mark_done("hole")
    one.record_answer("inferred", 1, right=True)
    found = Progress(file)
    assert (found.done, found.tally.asked) == ({"hole"}, 2)


def test_progress_of_a_visitor_is_temporary(data_folder):
    visit = VisitorProgress()
    visit.record_answer("copied", 1, right=True)
    visit.mark_done("hole")
    assert (visit.done, visit.tally.right) == ({"hole"}, 1)
    assert VisitorProgress().tally.asked == 0
    assert not data_folder.exists()
