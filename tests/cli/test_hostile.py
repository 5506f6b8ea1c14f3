"""Hostile input, unusable streams, and internal faults."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from shapecalc.core.limits import LIMITS
from shapecalc.teaching.progress import VisitorProgress
from shapecalc.tui.app import NO_FILE, ShapecalcApp, UserFile
from shapecalc.tui.question import question_from_words
from tests.cli.conftest import ROOT, command, environment, expand_placeholders, rows, run_program

# Hostile input is answered, or refused in one line that names a limit. The bounds on CPU time and memory are far above
# the needs of a question; a process that reaches one is killed, and its test fails.

resource = pytest.importorskip("resource", reason="resource limits need Unix")
SECONDS, BYTES = 20, 1 << 30
LINES = (
    Path(__file__).with_name("limits.txt").read_text("utf-8")
)  # placeholders, because the expanded lines are megabytes


def run(words, folder, stdin="", program=None):
    """Run a command line, or that of another program, with bounds on CPU time and memory."""

    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    env = environment() | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [*program, *words] if program else command(*words),
        input=stdin,
        env=env,
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        preexec_fn=set_limits,
    )


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in LINES.splitlines() if row and row[0] != "#"])
def test_hostile_input_is_answered_or_names_a_limit(row, tmp_path):
    request, _, end = row.rpartition(" => ")
    line, _, stdin = request.partition(" <- ")
    words = [expand_placeholders(word) for word in shlex.split(line)]
    ran = run(words, tmp_path, expand_placeholders(stdin))
    assert "Traceback" not in ran.stderr
    if end in LIMITS:
        output = ran.stdout if words[0] == "check" else ran.stderr
        assert (ran.returncode, f"the limit '{end}' is {int(LIMITS[end])}" in output) == (2, True), output[-300:]
        assert ran.stderr.count("\n") <= 1
    else:
        assert str(ran.returncode) in end.split(), ran.stderr[-300:]


def test_hostile_header_beyond_limit_is_unusable(shapecalc, tmp_path):
    length = LIMITS["safetensors-header"] + 1
    with (tmp_path / "x.safetensors").open("wb") as file:
        file.write(length.to_bytes(8, "little"))
        file.truncate(length + 8)
    ran = shapecalc("reshape", f"{tmp_path}/x.safetensors:a", "-1")
    assert (ran.code, "the limit 'safetensors-header' is" in ran.err) == (4, True)


STAGES = ("transpose", "reshape N,M", "reshape M,N", "flip --axes 0", "roll --shift 1 --axis 0", "squeeze", "flatten")


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, 200])
def test_drawn_chains_terminate(count, tmp_path):
    draw = random.Random(count)
    stages = " | ".join(draw.choice(STAGES) for _ in range(count))
    for words in (["chain", f"N,M | {stages}", "--json"], ["simplify", f"N,M | {stages}"], ["equiv", "N,M", stages]):
        ran = run(words, tmp_path)
        assert ran.returncode in {0, 1, 2, 3}, (words[0], ran.stderr[-300:])
        assert "Traceback" not in ran.stderr
        assert words[-1] != "--json" or json.loads(ran.stdout)


# Unusable streams


def shell(line):
    return subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("line", "end"), rows("closed_streams.txt"), ids=lambda text: text)
def test_unusable_stream_is_reported(line, end):
    ran = shell(f"{shlex.join(command())} {line}")
    code, _, out = end.partition(" ")
    assert (ran.returncode, ran.stdout) == (int(code), out and f"{out}\n")
    assert "Traceback" not in ran.stderr
    unexpected = [
        line for line in ran.stderr.splitlines() if not line.startswith(("shapecalc: ", " ", "onnx", "reshape"))
    ]
    assert unexpected == [], ran.stderr


def test_closed_reader_is_no_error():
    runs = [(), ("reshape", "2,3,4", "0,-1"), ("reshape", "2,3,4", "0,-1", "--json"), ("why",), ("-h",)]
    lines = "; ".join(f"({shlex.join(command(*words))}; echo $? >&2) | true" for words in runs)
    assert shell(lines).stderr == "0\n" * len(runs)


def test_drill_reports_a_closed_input():
    ran = shell(f"XDG_DATA_HOME=/dev/null {shlex.join(command('drill'))} <&-")
    assert (ran.returncode, ran.stderr) == (4, "shapecalc: stdin: it is closed\n")


def test_line_without_end_is_refused():
    ran = shell(f"yes 2,3 | tr -d '\\n' | {shlex.join(command('reshape', '-', '6'))}")
    assert (ran.returncode, ran.stdout) == (2, "")


def test_ascii_locale_works():
    ran = shell(f"LC_ALL=C PYTHONUTF8=0 {shlex.join(command('why', 'copy-zero'))} >/dev/null")
    assert (ran.returncode, ran.stderr) == (0, "")


# An interrupt ends the console script quietly, even while it imports the package.

INTERRUPTED_IMPORT = """
import sys

class Interrupter:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.path.append({folder!r})
sys.meta_path.insert(0, Interrupter())
from {script} import {function}
sys.exit({function}())
"""


@pytest.mark.parametrize("module", ["shapecalc", "shapecalc.core.text", "shapecalc.cli.app", "shapecalc.core.ops.tile"])
def test_script_interrupted_import_ends_quietly(module):
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    script, _, function = scripts["shapecalc"].partition(":")
    folder = str(ROOT / "shapecalc" / "script")  # a wheel has the script beside the package
    program = INTERRUPTED_IMPORT.format(module=module, folder=folder, script=script, function=function)
    ran = run_program([sys.executable, "-c", program, "tile", "2,3", "2,2"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


# Internal faults are reported in one line, with exit code 70.

REPORT_ADDRESS = "please report it at the address that 'pip show --verbose tensor-shapecalc' names"
BREAK = """
import sys
from shapecalc.core import resolve
from shapecalc.reasoning import answers
def fail(*arguments, **options):
    raise ZeroDivisionError("by \\x1b zero")
answers.answer_request = answers.answer_chain = resolve.resolve = fail
from shapecalc.__main__ import main
sys.exit(main())
"""
LOCATION = r"\(shapecalc\.__main__:\d+\); "


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            ZeroDivisionError("by \x1b zero"),
            70,
            rf"fault: ZeroDivisionError: by \\x1b zero {LOCATION}{REPORT_ADDRESS}\n",
        ),
        (RecursionError("too deep"), 70, f"fault: RecursionError: too deep {LOCATION}{REPORT_ADDRESS}\n"),
        (ImportError("no", name="shapecalc.nothing"), 70, rf"fault: ImportError: no \(shapecalc.*{REPORT_ADDRESS}\n"),
        (MemoryError(), 4, "memory: there is not enough for this\n"),
        (KeyboardInterrupt(), 130, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_unexpected_exception_is_one_line(error, code, message, shapecalc, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("shapecalc.__main__.run_command_line", fail)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    ran = shapecalc("reshape", "2,3", "6")
    assert (ran.code, ran.out) == (code, "")
    assert re.fullmatch(f"shapecalc: {message}" if message else "", ran.err)


def run_with_fault(*words, mode=(), **options):
    """Run a command line in a subprocess in which every answer raises."""
    program = [sys.executable, *mode, "-c", BREAK, *words]
    return subprocess.run(program, env=environment(), capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("words", [["reshape", "2,3", "6", "--json"], ["repl"], ["check", "-"], ["check", "many"]])
def test_command_fault_is_reported_once(words, tmp_path):
    (tmp_path / "many").write_text("reshape 2,3 6\n" * 20_000)
    ran = run_with_fault(*words, cwd=tmp_path, input="reshape 2,3 6\n")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (70, "", 1)
    assert ran.stderr.startswith("shapecalc: fault: ZeroDivisionError: by \\x1b zero (shapecalc.c")


@pytest.mark.parametrize("words", ["doctor {}", "check {}", "doctor < {}", "check - < {}", "code - < {}", "< {}"])
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_endless_device_is_refused(words, device):
    line = " ".join([*command(), words.format(device)])
    ran = run(["-c", line], ROOT, program=["sh"])
    assert (ran.returncode, ran.stdout) == (4, "")
    assert "it is a device, not a file or a pipe" in ran.stderr


@pytest.mark.parametrize(("words", "code"), [("doctor {}", 1), ("check - {}", 2), ("{}", 0), ("code - {}", 2)])
def test_null_device_is_an_empty_input(words, code):
    ran = run(["-c", " ".join([*command(), words.format("< /dev/null")])], ROOT, program=["sh"])
    assert (ran.returncode, "device" in ran.stderr) == (code, False)


def test_vanishing_folders_are_skipped(shapecalc, monkeypatch, tmp_path):
    scan = os.scandir

    def vanish(path):
        if str(path).endswith("gone"):
            shutil.rmtree(path)
        return scan(path)

    for name in ("", "gone", "group.zarr", "group.zarr/gone"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "group.zarr" / "zarr.json").write_text('{"node_type": "group", "zarr_format": 3}')
    (tmp_path / "cases.txt").write_text("reshape 2,3 6 => 6\n")
    (tmp_path / "x.npy").write_bytes(b"no array")
    monkeypatch.setattr("os.scandir", vanish)
    for words in (["check", str(tmp_path)], [str(tmp_path)], ["match", "N", str(tmp_path / "group.zarr")]):
        for folder in ("gone", "group.zarr/gone"):
            (tmp_path / folder).mkdir(exist_ok=True)
        assert "no such file" not in shapecalc(*words).err


def test_session_continues_after_a_fault(tmp_path):
    ran = run_with_fault("repl", cwd=tmp_path, input="2,3\nreshape 6\n4,5\nans | flatten\n7\n")
    assert (ran.returncode, ran.stdout, ran.stderr.count("fault: ")) == (70, "2,3\n4,5\n7\n", 2)


def test_session_ends_with_its_reader():
    line = " ".join(command("repl"))
    ran = run_program(["sh", "-c", f"yes 'size 2,3' | {line} | head -2"], capture_output=True, text=True)
    assert ran.stdout == "6\n6\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "cp037", "punycode", "ascii"])
@pytest.mark.parametrize("words", [["repl"], ["reshape", "-", "2,3"], ["check", "-"], []])
def test_input_is_utf_8_in_every_encoding(words, encoding):
    data = b"\xef\xbb\xbf2,3\n" if words != ["check", "-"] else b"reshape 2,3 2,3\n"
    env = {**environment(), "PYTHONIOENCODING": encoding}
    ran = run_program(command(*words), input=data, env=env, capture_output=True)
    out = ran.stdout.decode(encoding)
    assert (ran.returncode, out.count("2,3") + out.count("6")) == (0, 1), ran.stderr.decode(encoding)
    assert "fault" not in ran.stderr.decode(encoding)


def test_long_output_has_one_byte_order_mark():
    env = {**environment(), "PYTHONIOENCODING": "utf-16"}
    ran = run_program(command("help", "tutorial"), env=env, capture_output=True)
    assert "\ufeff" not in ran.stdout.decode("utf-16")


def test_development_mode_shows_the_traceback():
    ran = run_with_fault("reshape", "2,3", "6", mode=("-X", "dev"), cwd=ROOT)
    assert (ran.returncode, ran.stderr[:9]) == (70, "Traceback")
    assert ran.stderr.splitlines()[-1].startswith("shapecalc: fault: ")


def test_fault_report_names_the_package_address(shapecalc, monkeypatch):
    package_metadata = SimpleNamespace(get_all=lambda name: ["Home, there", "Issues, here"])
    monkeypatch.setattr(metadata, "metadata", lambda package: package_metadata)
    monkeypatch.setattr("shapecalc.__main__.run_command_line", lambda *_: 1 / 0)
    assert shapecalc("reshape").err.endswith("; please report it at here\n")


def test_app_fault_is_raised_in_process(capsys):
    async def fail(pilot):
        pilot.app.call_later(lambda: 1 / 0)
        await pilot.pause()

    question = question_from_words(["reshape", "2,3", "6"], {})
    app = ShapecalcApp(question, user_file=UserFile(NO_FILE), progress=VisitorProgress())
    with pytest.raises(ZeroDivisionError):
        app.run(headless=True, auto_pilot=fail)
    assert capsys.readouterr().err == ""
