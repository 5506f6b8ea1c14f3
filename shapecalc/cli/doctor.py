"""`shapecalc doctor`: what a runtime's error message means, and what would mend it."""

from __future__ import annotations

import sys
from pathlib import Path

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import Argument, Command, Option, printing_options
from shapecalc.cli.output import Exit, Output, put, put_json, stream_error, tell
from shapecalc.core.problem import FILE, Problem, ShapeError

TEXT = Argument(
    "file", "a file with a log or a message; without it, or with -, standard input", "[FILE]", required=False
)
MODEL = Option("model", "Also show the node of the message as it is in this model.", metavar="FILE.onnx")
LONGEST = 1 << 28
"""How many bytes of a log are read."""


def run_doctor(file: str | None, model: str | None, out: Output) -> int:
    """Print what the text of a file or of standard input says, and of a model the nodes that it names."""
    from shapecalc.doctor.report import diagnosis

    try:
        found = diagnosis(_text_of(file or "-"))
        lines, objects, told = found.lines(), found.as_json(), False
        if model is not None:
            from shapecalc.cli.model_report import named_nodes

            nodes = named_nodes([read for read, _ in found.found], model)
            lines += nodes.lines
            objects = [each | {"model": node} for each, node in zip(objects, nodes.objects or [None], strict=True)]
            told = any(nodes.objects)
    except ShapeError as error:
        return print_error(error, "doctor", {"file": file or "-"}, out)
    if out.json and not out.quiet:
        put_json(objects)
    elif not out.quiet:
        put("\n".join(lines))
    return Exit.YES if found.understood or told else Exit.NO


def _text_of(file: str) -> str:
    """Return what a file or standard input holds; raise `ShapeError` (file), `RunEnded` if it cannot be read."""
    if file != "-":
        try:
            with Path(file).open("rb") as stream:
                return stream.read(LONGEST).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = "a message comes from standard input: shapecalc doctor, paste, Ctrl-D" if " " in file else ""
            raise ShapeError(Problem(FILE, f"{file}: {reason[:1].lower()}{reason[1:]}", hint, "file")) from None
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    if sys.stdin.isatty():
        tell("shapecalc: paste, then Ctrl-D")
    try:
        return sys.stdin.buffer.read(LONGEST).decode("utf-8", "replace")
    except OSError as error:
        raise stream_error("stdin", error.strerror) from None


DOCTOR_COMMAND = Command(
    name="doctor",
    run=run_doctor,
    parameters=[TEXT, MODEL, *printing_options("json", "quiet")],
    summary="Say what a runtime's error message means, and what would mend it.",
    examples="""\
  shapecalc doctor build.log
  python train.py 2>&1 | shapecalc doctor
  shapecalc doctor run.log --model yolo.onnx
  trtexec --onnx=model.onnx 2>&1 | shapecalc doctor - --json""",
    more=""" It reads a whole log, and says which framework, op and node failed, with which
shapes and why; what would mend it; a command line that reproduces it; and which facts the message
leaves out. With --model it also shows the node as it is in the model. On a terminal: paste, then
Ctrl-D. Exit 0: understood; 1: not about a shape, or not known.""",
)
