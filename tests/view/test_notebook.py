"""Answers in notebooks: a picture that can be read on light and dark pages, and the same as text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import shapecalc as sc
from shapecalc.view.canvas import contrast
from shapecalc.view.files import CONTRAST, MOST_LINES

NAMESPACE = "{http://www.w3.org/2000/svg}"


def refused():
    with pytest.raises(sc.ShapeError) as error:
        sc.reshape((2, 3, 4), (5, -1))
    return error.value.trace


ANSWERS = {
    "trace": lambda: sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)),
    "names": lambda: sc.reshape("N,C,H,W", "0,-1,64"),
    "chain": lambda: sc.chain("2,3,4", "transpose 1,0,2", "flatten"),
    "refused": refused,
    "nothing": lambda: sc.shuffle((2, 3)),
    "scalar": lambda: sc.reshape((), (1, 1)),
}
made = pytest.mark.parametrize("make", ANSWERS.values(), ids=ANSWERS)


def picture(answer):
    return answer._repr_mimebundle_()["image/svg+xml"]


def shown(svg):
    """Return the text of a picture, blanks left out."""
    return "".join("".join(each.text or "" for each in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")).split())


@made
def test_a_notebook_gets_a_picture_with_the_same_text_beside_it(make):
    bundle = make()._repr_mimebundle_()
    assert [*bundle] == ["image/svg+xml", "text/plain"]
    assert shown(bundle["image/svg+xml"]) == "".join(bundle["text/plain"].split())


@made
def test_explain_prints_the_text(make, capsys):
    answer = make()
    assert answer.explain() is None
    assert capsys.readouterr().out.rstrip() == answer._repr_mimebundle_()["text/plain"].rstrip()


def test_explain_prints_every_picture_if_asked(capsys):
    answer = sc.reshape((2, 2, 3, 2), (-1, 0, 0))
    answer.explain()
    short = capsys.readouterr().out
    answer.explain(everything=True)
    assert "more pictures: explain(everything=True)" in short
    assert "mix axes" in capsys.readouterr().out
    assert "mix axes" not in short


def test_explain_prints_what_the_stream_can_show(monkeypatch):
    import io

    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    sc.reshape((2, 3, 4), (0, -1)).explain()
    stream.flush()
    assert b"##|##" in stream.buffer.getvalue()


@made
def test_every_colour_can_be_read_on_both_pages(make):
    parts = picture(make()).split("@media (prefers-color-scheme: dark)")
    light, dark = (re.findall(r"(rect)?\.[\w-]+ \{ fill: #(\w{6}); \}", part) for part in parts)
    assert len(light) == len(dark) > 1
    for (kind, page), *inks in (light, dark):
        assert kind == "rect"
        assert all(contrast(bytes.fromhex(page), bytes.fromhex(ink)) >= CONTRAST for _, ink in inks)


def test_two_pictures_on_one_page_share_no_class():
    one, other = (set(re.findall(r'class="(\w+)', picture(ANSWERS[name]()))) for name in ("trace", "chain"))
    assert one.isdisjoint(other)


def test_a_long_answer_says_how_many_lines_are_left_out():
    answer = sc.reshape((1,) * 1000, (1,) * 999 + (-1,))
    svg = picture(answer)
    assert len({each.get("y") for each in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")}) <= MOST_LINES
    assert "more lines, which explain() prints" in svg
