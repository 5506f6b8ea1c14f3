"""The command line in transcripts: `$` a command, `>` its standard input, `!` standard error, `=` the exit code.

`@` names a file whose lines begin with `|`, and `?` is a path into the printed JSON, with its value.
Leading words `NAME=value` set environment variables. By default a command exits with 0 and an empty standard error. No
command prints a traceback or a control character. `$ cd`, `$ ls`, `$ cat`, `$ ln`, `$ mkdir` and `$ save` are commands
of these transcripts.

Placeholders: `<ESC>` and others for control characters, `<xFF>` for a byte that is not valid UTF-8, `<ab x 9>` for a
repeated text, `<CUT>` at the end of a line for a missing newline.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import CHARACTERS, expand_placeholders
from tests.transcripts import matches_expected, transcripts

pytestmark = pytest.mark.sampled(20)
SIGNS = r"\$|>|!|=|@|\||\?"

PLACEHOLDER_OF = str.maketrans({character: f"<{name}>" for name, character in CHARACTERS.items() if name != "LF"})


def iter_groups(lines):
    """Yield the lines of each command or file of a transcript, by sign."""
    group = {}
    for line in [*lines, None]:
        if line is None or line.sign in ("$", "@"):
            if group:
                yield group
            group = {"": [], ">": [], "!": [], "=": [], "?": [], "|": [], "first": line}
        else:
            group[line.sign].append(line)


def printed_text(lines):
    """Return lines as printed text, without empty lines at the end."""
    text = "\n".join(line.text for line in lines).rstrip("\n")
    return f"{text}\n" if text else ""


def file_text(lines):
    """Return lines as text with expanded placeholders."""
    return expand_placeholders(printed_text(lines).replace("<CUT>\n", ""))


def save(name, dtype, *shapes):
    """Write arrays of zeros: `save x.npy f4 2,3`, `save x.npz f4 a=2,3 b=4`, `save x.zarr f4 4,6 2,3` with chunks."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    parts = [text.rpartition("=") for text in shapes]
    arrays = [(key, [int(dim) for dim in shape.split(",")]) for key, _, shape in parts]
    if name.endswith(".zarr"):
        zarr = pytest.importorskip("zarr", reason="zarr is not installed")
        (_, shape), (_, chunks) = arrays
        zarr.create_array(name, shape=shape, chunks=chunks, dtype=dtype)
    elif name.endswith(".npz"):
        numpy.savez_compressed(name, **{key: numpy.zeros(shape, dtype) for key, shape in arrays})
    else:
        numpy.save(name, numpy.zeros(arrays[0][1], dtype))


def run_helper(words, monkeypatch):
    """Run a command of the transcripts and return its output; None for other commands."""
    match words:
        case ["cd", folder]:
            monkeypatch.chdir(folder)
        case ["ls", *folder]:
            return "".join(f"{name}\n" for name in sorted(os.listdir(*folder)))
        case ["cat", name]:
            text = Path(name).read_bytes().decode("utf-8", "surrogateescape").translate(PLACEHOLDER_OF)
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
    """Run the commands of a transcript and check their output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for group in iter_groups(lines):
        first = group["first"]
        if first.sign == "@":
            path = Path(expand_placeholders(first.text))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file_text(group["|"]).encode("utf-8", "surrogateescape"))
            continue
        words = [expand_placeholders(word) for word in shlex.split(first.text)]
        location, output = first.location, run_helper(words, monkeypatch)
        if output is not None:
            assert matches_expected(printed_text(group[""]), output), f"{location}: {output}"
            continue
        with monkeypatch.context() as patch:
            while "=" in words[0]:
                patch.setenv(*words.pop(0).split("=", 1))
            ran = shapecalc(*words[1:], stdin=file_text(group[">"]))
        assert "Traceback" not in ran.err, location
        assert (ran.out + ran.err).replace("\n", "").isprintable(), location
        assert ran.code == int(group["="][0].text if group["="] else 0), f"{location}: {ran}"
        assert matches_expected(printed_text(group["!"]), ran.err), f"{location}: {ran.err}"
        if group["?"]:
            check_json(group["?"], ran.out)
        else:
            assert matches_expected(printed_text(group[""]), ran.out), f"{location}: {ran.out}"


def check_json(lines, output):
    """Compare values of printed JSON with the expected ones; the path `.` is the whole JSON."""
    rows = [json.loads(row) for row in output.splitlines()]
    for line in lines:
        path, _, expected = line.text.partition(" ")
        value = rows if len(rows) > 1 else rows[0]
        for key in path.split(".") if path != "." else ():
            value = value[int(key) if isinstance(value, list) else key]
        written = json.dumps(value, ensure_ascii=False)
        assert matches_expected(expand_placeholders(expected), f"{written}\n"), f"{line.location}: {written}"


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", SIGNS))
def test_command_line_transcripts(lines, shapecalc, tmp_path, monkeypatch):
    play(lines, shapecalc, tmp_path, monkeypatch)
