"""Progress is kept whole or not at all, and nothing that befalls its file reaches the program."""

from __future__ import annotations

import json
import os

import pytest

from shapecalc.teaching import progress
from shapecalc.teaching.progress import Progress, VisitorProgress, progress_file
from tests.tui.tables import table


@pytest.fixture
def file(tmp_path):
    return tmp_path / "data" / "lessons.json"


def test_progress_is_kept_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert progress_file() == tmp_path / "shapecalc" / "lessons.json"
    Progress().mark("hole")
    assert Progress().done == {"hole"}


def test_a_new_user_has_done_nothing_and_hears_nothing(file):
    found = Progress(file)
    assert (found.done, found.complaint()) == (frozenset(), "")
    assert not file.parent.exists()


def test_marks_are_kept_in_one_whole_file_and_two_programs_lose_none(file):
    one, other = Progress(file), Progress(file)
    for lesson in ("hole", "allowzero", "hole"):
        one.mark(lesson)
    other.mark("expand")
    assert Progress(file).done == {"hole", "allowzero", "expand"}
    assert json.loads(file.read_text()) == {"done": ["allowzero", "expand", "hole"]}
    assert os.listdir(file.parent) == ["lessons.json"]


LARGE = ["[" * 100_000, '{"done": [' + '"hole",' * 200_000 + '"x"]}', "\udcff\udcfe"]


@pytest.mark.parametrize(
    "content", [*(row for (row,) in table("broken", "teaching")), *LARGE], ids=lambda content: ascii(content)[:30]
)
def test_a_broken_file_is_no_progress_said_once_and_can_be_marked_anew(file, content):
    file.parent.mkdir()
    file.write_text(content, errors="surrogateescape")
    found = Progress(file)
    assert found.done == frozenset()
    assert found.complaint() == f"progress is not kept: {file} does not hold a list of lessons"
    assert found.complaint() == ""
    found.mark("hole")
    assert found.complaint() == ""
    assert Progress(file).done == {"hole"}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_what_is_no_file_is_not_opened(file, make):
    file.parent.mkdir()
    make(file)
    found = Progress(file)
    assert found.done == frozenset()
    assert "does not hold a list of lessons" in found.complaint()
    found.mark("hole")
    assert found.done == {"hole"}


def test_a_file_that_goes_away_loses_no_marks_of_this_run(file):
    found = Progress(file)
    found.mark("hole")
    file.unlink()
    found.mark("allowzero")
    assert Progress(file).done == {"hole", "allowzero"}
    assert found.complaint() == ""


def test_a_folder_that_cannot_be_made_is_said_once(tmp_path):
    (tmp_path / "data").write_text("in the way")
    found = Progress(tmp_path / "data" / "lessons.json")
    found.mark("hole")
    found.mark("allowzero")
    assert found.done == {"hole", "allowzero"}
    assert found.complaint().startswith(
        f"progress is not kept: {tmp_path / 'data' / 'lessons.json'} cannot be written: "
    )
    assert found.complaint() == ""


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(file, monkeypatch):
    Progress(file).mark("hole")

    def full(*_):
        raise OSError(28, "No space left on device")

    found = Progress(file)
    monkeypatch.setattr(os, "fsync", full)
    found.mark("allowzero")
    assert found.complaint() == f"progress is not kept: {file} cannot be written: No space left on device"
    assert Progress(file).done == {"hole"}
    assert os.listdir(file.parent) == ["lessons.json"]


def test_a_read_that_fails_is_no_progress(file, monkeypatch):
    Progress(file).mark("hole")

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(progress.Path, "read_text", refused)
    found = Progress(file)
    assert (found.done, found.complaint()) == (
        frozenset(),
        f"progress is not kept: {file} cannot be read: Permission denied",
    )


def test_answers_are_counted_with_the_streak_and_the_longest_one(file):
    found = Progress(file)
    for right in (True, True, False, True):
        found.score("copied", int(right), right=right)
    assert Progress(file).tally == found.tally
    assert str(found.tally) == "3 of 4 right, streak 1, best 2"
    assert json.loads(file.read_text())["drill"]["boxes"] == {"copied": 1}


def test_lessons_and_answers_do_not_lose_each_other(file):
    one, other = Progress(file), Progress(file)
    one.score("copied", 1, right=True)
    other.mark("hole")
    one.score("inferred", 1, right=True)
    found = Progress(file)
    assert (found.done, found.tally.asked) == ({"hole"}, 2)


def test_a_visitors_score_is_kept_for_the_visit_alone(data_folder):
    visit = VisitorProgress()
    visit.score("copied", 1, right=True)
    visit.mark("hole")
    assert (visit.done, visit.tally.right) == ({"hole"}, 1)
    assert VisitorProgress().tally.asked == 0
    assert not data_folder.exists()
