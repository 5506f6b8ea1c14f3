"""`film`, and `--picture` on every op: files that are whole or not there, and the answer as always."""

from __future__ import annotations

import json

import pytest

from shapecalc.core.ops import OPS
from shapecalc.view.film import FORMATS

pytestmark = pytest.mark.sessions(24)

SHUFFLE = ("shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1")
CHAIN = ("chain", "2,3,4 | transpose 1,0,2 | reshape 0,-1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", [ending for ending in FORMATS if ending != ".gif"])
@pytest.mark.parametrize("words", [SHUFFLE, CHAIN])
def test_a_film_is_written_and_the_answer_printed(words, ending, shapecalc, folder):
    ran = shapecalc("film", *words, "-o", f"x{ending}")
    assert (ran.code, ran.out) == (0, "3,8\n")
    assert ran.err == f"shapecalc: x{ending}: 30 frames, 54 seconds\n"
    assert names(folder) == [f"x{ending}"]
    assert (folder / f"x{ending}").stat().st_size > 1000


def test_a_gif_is_written(shapecalc, folder):
    assert shapecalc("film", "reshape", "2,2", "4", "-o", "x.gif", "--theme", "dark").code == 0
    assert (folder / "x.gif").read_bytes().startswith(b"GIF89a")


def test_json_says_what_was_written(shapecalc, folder):
    ran = shapecalc("film", "transpose", "1000,3", "1,0", "-o", "x.html", "--json")
    said = json.loads(ran.out)
    assert (ran.code, ran.err, said["output"], said["op"]) == (0, "", [3, 1000], "transpose")
    film = said["film"]
    assert (film["file"], film["notes"]) == ("x.html", ["of large memories the first cells are shown"])
    data = (folder / "x.html").read_text("utf-8").partition('type="application/json">')[2].partition("</script>")[0]
    assert len(json.loads(data)["frames"]) == film["frames"]


def test_a_refused_request_is_drawn_and_exits_3(shapecalc, folder):
    for words in (("reshape", "2,3,4", "5,-1"), ("chain", "2,3,4 | transpose 1,0,2 | reshape 5,-1")):
        ran = shapecalc("film", *words, "-o", "x.html", "--force")
        assert (ran.code, ran.out) == (3, "")
        assert "\nshapecalc: indivisible: " in ran.err
        assert "✗ refused: indivisible" in (folder / "x.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("reshape", "2,3", "6"), 2, "usage: a film needs a file to be written to"),
        (
            ("reshape", "2,3", "6", "-o", "x.png"),
            2,
            "usage: 'x.png' is not a film (end it in .svg, .gif, .html; a still picture: an op's --picture FILE.png)",
        ),
        (("reshape", "2,3", "6", "-o", "x.svg", "--theme", "blue"), 2, "usage: there is no theme 'blue'"),
        (("reshape", "2,3", "6", "-o", "x.txt"), 2, "usage: 'x.txt' is not a film (end it in .svg, .gif, .html)"),
        (("reshape", "2,3", "-o", "x.svg"), 2, "usage: reshape needs a target"),
        (("reshape", "2,3", "6,,", "-o", "x.svg"), 2, "usage: "),
        (("reshpe", "2,3", "6", "-o", "x.svg"), 2, "usage: there is no film of 'reshpe' (did you mean reshape?)"),
        (("compare", "2,3", "6", "-o", "x.svg"), 2, "usage: there is no film of 'compare'"),
        (("chain", "2,3 | flatten", "more", "-o", "x.svg"), 2, "usage: a chain is one text"),
        (("chain", "-o", "x.svg"), 2, "usage: a chain is one text"),
        (("chain", "2,3 | flaten", "-o", "x.svg"), 2, "usage: there is no operation 'flaten'"),
        (("reshape", "2,3", "6", "-o", "none/x.svg"), 4, "file: none/x.svg: No such file or directory"),
        (("reshape", "x.npy", "6", "-o", "x.svg"), 4, "file: "),
        (("\x1b[31m", "-o", "x.svg"), 2, "usage: there is no film of '\\x1b[31m'"),
        (("reshape", "2,3", "6", "-o", "a\0b.svg"), 4, "file: a\\x00b.svg: "),
    ],
)
def test_what_cannot_be_filmed_is_one_clear_line(words, code, said, shapecalc, folder):
    ran = shapecalc("film", *words)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"shapecalc: {said}")
    assert ran.err.count("\n") == 1
    assert names(folder) == []
    as_json = shapecalc("film", *words, "--json")
    assert as_json.code == code
    assert json.loads(as_json.out)["problem"]["message"]


def test_a_file_that_exists_is_written_over_only_if_asked(shapecalc, folder):
    (folder / "x.svg").write_text("mine")
    for words in (("film", "flatten", "2,3", "-o", "x.svg"), ("flatten", "2,3", "--picture", "x.svg")):
        ran = shapecalc(*words)
        assert (ran.code, ran.err) == (4, "shapecalc: file: x.svg: it exists; --force writes over it\n")
        assert (folder / "x.svg").read_text() == "mine"
    assert shapecalc("film", "flatten", "2,3", "-o", "x.svg", "--force").code == 0
    assert shapecalc("flatten", "2,3", "--picture", "x.svg", "--force").code == 0
    assert names(folder) == ["x.svg"]


def test_the_input_may_come_from_elsewhere(shapecalc, folder):
    assert shapecalc("film", "reshape", "-", "-1", "-o", "x.svg", stdin="2,3\n").out == "6\n"
    assert shapecalc("film", "2,3", "-1", "-o", "y.svg", "-q").out == ""
    assert names(folder) == ["x.svg", "y.svg"]
    assert shapecalc("film", "reshape", "-", "-1", "-o", "z.svg", stdin="2,3\n4\n").code == 2


@pytest.mark.usefixtures("folder")
def test_a_default_and_names_and_sizes_hold_for_films(shapecalc, monkeypatch):
    monkeypatch.setenv("SHAPECALC_DIALECT", "numpy")
    ran = shapecalc("film", "reshape", "0,3", "0,-1", "-o", "x.html")
    assert ran.code == 3
    assert "dialect numpy, set in SHAPECALC_DIALECT" in ran.err
    assert shapecalc("film", "reshape", "2,3", "0,-1", "-o", "x.html", "--no-config", "--force").out == "2,3\n"
    ran = shapecalc("film", "chain", "N,C | flatten", "--where", "N=2,C=3", "-o", "y.svg", "--no-config")
    assert (ran.out, "memory with" in ran.err) == ("2,3\n", False)
    ran = shapecalc("film", "reshape", "N,4", "0,2,-1", "-o", "z.svg", "--no-config")
    assert "shapecalc: z.svg: memory with N=2\n" in ran.err


ASKED = {
    "view": ("2,3", "6"), "select": ("2,3", "0", "1"), "slice": ("2,3", ":"), "split": ("2,4", "1", "2"),
    "take": ("2,3", "1", "2,0,0"),
    "flip": ("2,3", "0"), "roll": ("2,3", "1", "0"), "swapaxes": ("2,3", "0", "1"), "moveaxis": ("2,3", "0", "1"),
    "unflatten": ("2,6", "1", "2,3"), "tile": ("2,3", "2,2"), "rearrange": ("2,3", "a b -> b a"),
    "depth_to_space": ("1,4,2,2", "2"), "space_to_depth": ("1,4,2,2", "2"), "reshape": ("2,3", "6"),
    "expand": ("1,3", "2,3"), "unsqueeze": ("2,3", "0"), "broadcast": ("2,1", "3"), "matmul": ("2,3", "3,4"),
    "linear": ("2,3", "4"), "concat": ("2,3", "2,5", "--axis=1"), "stack": ("2,3", "2,3", "--axis=0"),
    "einsum": ("ij,jk->ik", "2,3", "3,4"), "conv": ("1,3,8,8", "4,3,3,3"), "pool": ("1,3,8,8", "2"),
    "pad": ("2,3", "1,0,0,2"), "upsample": ("1,1,2,3", "2"),
}  # fmt: skip


@pytest.mark.parametrize("op", OPS)
def test_every_op_has_a_film_and_a_picture(op, shapecalc, folder):
    words = (op, *ASKED.get(op, ("1,3",)))
    plain = shapecalc(*words)
    film, picture = shapecalc("film", *words, "-o", "x.html", "-q"), shapecalc(*words, "--picture", "x.svg")
    assert (plain.code, film.code, picture.code) == (0, 0, 0), film.err + picture.err
    assert (picture.out, picture.err) == (plain.out, f"{plain.err}shapecalc: x.svg: a picture\n")
    assert names(folder) == ["x.html", "x.svg"]


def test_a_picture_is_drawn_as_asked(shapecalc, folder):
    words = ("reshape", "2,3,4", "0,-1", "--picture", "x.svg", "--step", "2", "--theme", "dark", "--width=60")
    ran = shapecalc(*words)
    assert (ran.code, ran.out, ran.err) == (0, "2,12\n", "shapecalc: x.svg: a picture of step 2 of 3\n")
    drawn = (folder / "x.svg").read_text("utf-8")
    assert "[2 of 3: solve -1]" in drawn
    assert "#181818" in drawn
    assert shapecalc(*words[:-1], "--width", "120", "--force").code == 0
    assert (folder / "x.svg").read_text("utf-8") != drawn


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--picture", "x.gif"), 2, "usage: 'x.gif' is not a picture (end it in .svg, .png, .html)"),
        (("--picture", "x.svg", "--step", "4"), 2, "usage: there is no step 4 (the answer has 3 steps)"),
        (("--picture", "x.svg", "--step=-1"), 2, "usage: --step is a whole number from 0 to 99999, not '-1'"),
        (("--picture", "x.svg", "--step", "two"), 2, "usage: --step is a whole number from 0 to 99999, not 'two'"),
        (("--picture", "x.svg", "--width", "39"), 2, "usage: --width is a whole number from 40 to 400, not '39'"),
        (("--picture", "x.svg", "--theme", "blue"), 2, "usage: there is no theme 'blue'"),
        (("--step", "1"), 2, "usage: --step, --theme and --width need a picture (add --picture FILE)"),
        (("--theme", "dark"), 2, "usage: --step, --theme and --width need a picture"),
        (("--picture", "none/x.svg"), 4, "file: none/x.svg: No such file or directory"),
        (("--picture", "."), 2, "usage: '.' is not a picture"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_one_clear_line(words, code, said, shapecalc, folder):
    ran = shapecalc("reshape", "2,3,4", "0,-1", *words)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"shapecalc: {said}")
    assert ran.err.count("\n") == 1
    assert names(folder) == []


def test_a_refused_request_has_a_picture_and_many_lines_have_none(shapecalc, folder):
    ran = shapecalc("reshape", "2,3,4", "5,-1", "--picture", "x.svg")
    assert ran.code == 3
    assert "indivisible" in (folder / "x.svg").read_text("utf-8")
    ran = shapecalc("reshape", "-", "-1", "--picture", "y.svg", stdin="2,3\n4\n")
    assert (ran.code, names(folder)) == (2, ["x.svg"])
    assert "--picture needs one input" in ran.err


def test_names_of_options_and_themes_are_completed(shapecalc, monkeypatch):
    def offered(words):
        monkeypatch.setenv("_SHAPECALC_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", f"shapecalc {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))
        return shapecalc().out.split()

    assert offered("fil") == ["film"]
    assert offered("film res") == ["reshape"]
    assert offered("film chain x --theme ") == ["light", "dark"]
    assert offered("squeeze --pic") == ["--picture"]
    assert offered("squeeze --theme d") == ["dark"]
