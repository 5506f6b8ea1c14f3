"""The file dialogs: the limit of listed entries, served apps without files, and the offered name."""

from __future__ import annotations

import asyncio

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


@driven("flatten", "2,3")
async def test_save_dialog_overwrites_a_file_only_after_a_second_enter(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.svg").write_text("mine")
    (tmp_path / "shapecalc-picture.svg").write_text("another")
    await user.press("p")
    assert user.value == "shapecalc-picture-2.svg"
    await user.wipe()
    await user.type("mine.svg")
    await user.press("enter")
    assert "mine.svg exists: enter again overwrites it" in user.text
    assert (tmp_path / "mine.svg").read_text() == "mine"
    await user.press("enter")
    for _ in range(200):
        if user.app.screen is user.app.explore:
            break
        await asyncio.sleep(0.01)
    assert "<svg" in (tmp_path / "mine.svg").read_text()
