"""^O lists the arrays in folders and files, and ^S takes the screen away as text."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from shapecalc.tui import question
from shapecalc.tui.files import MOST
from tests.tui.driven import driven, using


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return a folder of arrays to be in."""
    made = tmp_path / "arrays"
    (made / "inside").mkdir(parents=True)
    monkeypatch.chdir(made)
    np.save("x.npy", np.zeros((2, 3), "f4"))
    np.save("inside/y.npy", np.zeros((4, 5, 6)))
    np.savez("many.npz", first=np.zeros(7), second=np.zeros((8, 9), "i1"))
    (made / "notes.txt").write_text("none")
    (made / "bad.npy").write_bytes(b"\x93NUMPY")
    (made / "red\x1b[31m.npy").write_bytes(b"")
    return made


def listed(user):
    return [option.prompt for option in user.app.screen.query_one("#entries").options]


@driven("flatten", "2,3")
async def test_an_array_is_taken_as_the_input(user):
    await user.press("ctrl+o")
    assert listed(user) == ["..", "inside/", "bad.npy", "many.npz", "red\\x1b[31m.npy", "x.npy"]
    await user.press("end")
    assert "float32 2,3" in user.text
    await user.press("enter")
    assert user.state.question.texts["input"] == "x.npy"
    assert user.title.endswith("answer 2,3")


@driven("flatten", "2,3")
async def test_folders_and_files_of_several_arrays_are_opened(user):
    await user.press("ctrl+o", "down")
    assert "a folder" in user.text
    await user.press("enter")
    assert listed(user) == ["..", "y.npy"]
    await user.press("backspace", *["down"] * 3)
    assert "2 arrays" in user.text
    await user.press("enter")
    assert listed(user) == [":first", ":second"]
    await user.press("down")
    assert "int8 8,9" in user.text
    await user.press("enter")
    assert user.state.question.texts["input"] == "many.npz:second"
    assert user.title.endswith("answer 8,9")


@driven("flatten", "2,3")
async def test_what_cannot_be_read_is_told_in_its_place(user, folder):
    await user.press("ctrl+o", "down", "down")
    assert "it does not start as a .npy file does" in user.text
    (folder / "inside" / "y.npy").unlink()
    (folder / "inside").rmdir()
    await user.press("home", "down", "enter")
    assert "No such file or directory" in user.text
    await user.press("escape")
    assert user.state.question.texts["input"] == "2,3"


@driven("flatten", "2,3")
async def test_a_long_folder_says_that_there_is_more(user, folder):
    for number in range(MOST):
        (folder / "inside" / f"{number}.npy").touch()
    await user.press("ctrl+o", "down", "enter")
    assert len(listed(user)) == MOST
    assert f"the first {MOST} of " in user.text


@driven("flatten", "2,3")
async def test_a_served_app_lists_no_files(user, monkeypatch):
    monkeypatch.setattr(question, "_files_are_open", False)
    await user.press("ctrl+o")
    assert user.app.screen is user.app.explore
    assert user.notes == [("", "a served app opens no files and writes none")]


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (200, 60)])
def test_the_screen_is_copied_and_saved_as_text(size, folder):
    async def take(user):
        await user.press("f7")
        before = user.lines
        await user.press("ctrl+s")
        (saved,) = folder.glob("shapecalc_*.txt")
        text = saved.read_text()
        assert user.app.clipboard == text
        assert len(text.splitlines()) == size[1]
        assert "\x1b" not in text
        assert "sent to" not in text, "no notification stands in it"
        assert text.splitlines()[:4] == [line.rstrip() for line in before[:4]]
        assert user.notes[-1][1].startswith(saved.name)

    asyncio.run(using(take, "reshape", "2,3,4", "0,-1", size=size))


@pytest.mark.usefixtures("full_disk")
@driven("flatten", "2,3")
async def test_a_text_that_cannot_be_saved_is_copied_and_told(user):
    await user.press("ctrl+s")
    assert "answer" in user.app.clipboard
    assert user.notes[-1][0] == "not saved"
