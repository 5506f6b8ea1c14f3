"""The file dialogs: the limit of listed entries, served apps without files, and the offered name."""

from __future__ import annotations

from shapecalc.tui import question
from shapecalc.tui.files import MAX_ENTRIES
from tests.tui.driven import driven


@driven("flatten", "2,3")
async def test_file_screen_marks_long_folders(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(MAX_ENTRIES + 1):
        (tmp_path / f"{number}.npy").touch()
    await user.press(":files")
    assert len(user.listed) == MAX_ENTRIES
    assert f"the first {MAX_ENTRIES} of " in user.text


@driven("flatten", "2,3")
async def test_served_app_lists_no_files(user, monkeypatch):
    monkeypatch.setattr(question, "_are_files_enabled", False)
    await user.press(":files")
    assert user.app.screen is user.app.explore
    assert user.notes == [("", "a served app opens no files and writes none")]


@driven("flatten", "2,3")
async def test_typing_replaces_the_offered_name(user):
    await user.press("p")
    assert user.value == "shapecalc-picture.svg"
    await user.press("a")
    assert user.value == "a"
