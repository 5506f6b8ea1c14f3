"""The command line in transcripts: `$` a command, `>` its standard input, `!` standard error, `=` the exit code.

`@` names a file that the lines with `|` are written to, `?` a place in the JSON that was printed, of which each line
may be an object. Beginning words as `NAME=value` are set in the environment. Every command ends with 0 and an empty
standard error if nothing else is said. No command prints a traceback or a control character. `$ cd`, `$ ls`, `$ cat`,
`$ ln`, `$ mkdir` and `$ save` are commands of these transcripts.

`<ESC>` and the like stand for characters that cannot be shown, `<xFF>` for a byte that is no text, `<ab x 9>` for a
text that is repeated, and `<CUT>` at the end of a line for a line that does not end.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import CHARACTERS, expand_placeholders
from tests.transcripts import is_seen, transcripts

pytestmark = pytest.mark.sampled(20)
SIGNS = r"\$|>|!|=|@|\||\?"

SHOWN_AS = str.maketrans({character: f"<{name}>" for name, character in CHARACTERS.items() if name != "LF"})


def groups(lines):
    """Yield each command or file of a transcript with the lines that belong to it, by their signs."""
    group = {}
    for line in [*lines, None]:
        if line is None or line.sign in ("$", "@"):
            if group:
                yield group
            group = {"": [], ">": [], "!": [], "=": [], "?": [], "|": [], "first": line}
        else:
            group[line.sign].append(line)


def block(lines):
    """Return lines as they are printed, without the empty ones at the end."""
    text = "\n".join(line.text for line in lines).rstrip("\n")
    return f"{text}\n" if text else ""


def given(lines):
    """Return what lines stand for."""
    return expand_placeholders(block(lines).replace("<CUT>\n", ""))


def save(name, dtype, *shapes):
    """Write arrays of zeros: `save x.npy f4 2,3`, `save x.npz f4 a=2,3 b=4`, `save x.zarr f4 4,6 2,3` with chunks."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    found = [
        (name, [int(dim) for dim in shape.split(",")]) for name, _, shape in (each.rpartition("=") for each in shapes)
    ]
    if name.endswith(".zarr"):
        zarr = pytest.importorskip("zarr", reason="zarr is not installed")
        (_, shape), (_, chunks) = found
        zarr.create_array(name, shape=shape, chunks=chunks, dtype=dtype)
    elif name.endswith(".npz"):
        numpy.savez_compressed(name, **{key: numpy.zeros(shape, dtype) for key, shape in found})
    else:
        numpy.save(name, numpy.zeros(found[0][1], dtype))


def helped(words, monkeypatch):
    """Do a command of the transcripts, and return what it shows, or nothing if it is none of theirs."""
    match words:
        case ["cd", folder]:
            monkeypatch.chdir(folder)
        case ["ls", *folder]:
            return "".join(f"{name}\n" for name in sorted(os.listdir(*folder)))
        case ["cat", name]:
            text = Path(name).read_bytes().decode("utf-8", "surrogateescape").translate(SHOWN_AS)
            return text if text.endswith("\n") or not text else f"{text}<CUT>\n"
        case ["ln", "-s", target, name]:
            Path(name).symlink_to(target)
        case ["mkdir", name]:
            Path(name).mkdir()
        case ["save", *rest]:
            save(*rest)
        case _:
            return None
    return ""


def play(lines, shapecalc, tmp_path, monkeypatch):
    """Type what a transcript says, and fail where something else is seen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for group in groups(lines):
        first = group["first"]
        if first.sign == "@":
            path = Path(expand_placeholders(first.text))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(given(group["|"]).encode("utf-8", "surrogateescape"))
            continue
        words = [expand_placeholders(word) for word in shlex.split(first.text)]
        place, shown = first.place, helped(words, monkeypatch)
        if shown is not None:
            assert is_seen(block(group[""]), shown), f"{place}: {shown}"
            continue
        with monkeypatch.context() as changed:
            while "=" in words[0]:
                changed.setenv(*words.pop(0).split("=", 1))
            ran = shapecalc(*words[1:], stdin=given(group[">"]))
        assert "Traceback" not in ran.err, place
        assert (ran.out + ran.err).replace("\n", "").isprintable(), place
        assert ran.code == int(group["="][0].text if group["="] else 0), f"{place}: {ran}"
        assert is_seen(block(group["!"]), ran.err), f"{place}: {ran.err}"
        if group["?"]:
            check_json(group["?"], ran.out)
        else:
            assert is_seen(block(group[""]), ran.out), f"{place}: {ran.out}"


def check_json(lines, shown):
    """Hold places of printed JSON, `.` for the whole of it, against what lines say stands there."""
    rows = [json.loads(row) for row in shown.splitlines()]
    for line in lines:
        path, _, expected = line.text.partition(" ")
        found = rows if len(rows) > 1 else rows[0]
        for key in path.split(".") if path != "." else ():
            found = found[int(key) if isinstance(found, list) else key]
        written = json.dumps(found, ensure_ascii=False)
        assert is_seen(expand_placeholders(expected), f"{written}\n"), f"{line.place}: {written}"


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", SIGNS))
def test_command_line_transcripts(lines, shapecalc, tmp_path, monkeypatch):
    play(lines, shapecalc, tmp_path, monkeypatch)
