"""`shapecalc doctor` and `code`: diagnose error messages, and answer Python code."""

from __future__ import annotations

import re
import sys
from os.path import isfile
from pathlib import Path
from shlex import quote

from shapecalc.cli.answer import advised, print_answer, print_error
from shapecalc.cli.options import PRINTING, Argument, Command, printing_options
from shapecalc.cli.output import Exit, Output, asks_text, put, read_input, read_stdin, tell
from shapecalc.core.ask import chain_with_options
from shapecalc.core.commands import ASKING, Option
from shapecalc.core.dims import Shape
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import replace
from shapecalc.core.text import read_shape, split, tokens, visible
from shapecalc.core.values import read_sizes

LONGEST = 1 << 28
"""Limit on the bytes of a log."""


def run_doctor(file: str | None, model: str | None, out: Output) -> int:
    """Print the diagnosis of the error messages in a text.

    `file` is a file with the text, `-` for standard input, or the text itself. With `model`, the nodes of the messages
    are printed as well. Exit 1 if no message is understood and no node is found.
    """
    from shapecalc.doctor.report import diagnosis

    try:
        report = diagnosis(_text_of(file or "-"), model)
        lines, objects, has_node = report.lines(), report.as_json(), False
        if model is not None:
            from shapecalc.cli.model_report import named_nodes

            node_texts, nodes = named_nodes([message for message, _ in report.found], model)
            lines += node_texts
            objects = [item | {"model": node} for item, node in zip(objects, nodes or [None], strict=True)]
            has_node = any(nodes)
    except ShapeError as error:
        return print_error(error, "doctor", {"file": file or "-"}, out)
    if asks_text(out, lambda: objects):
        put("\n".join(lines))
    return Exit.YES if report.understood or has_node else Exit.NO


def _text_of(file: str) -> str:
    """Return the text of a file or standard input, or the argument itself.

    Raises `ShapeError` (file) and `EarlyExit` if it cannot be read.
    """
    # a message can be too long for a file name, and `Path.exists` would raise
    if len(file.split()) > 1 and not isfile(file):  # noqa: PTH113 - it never raises
        return file
    if file != "-":
        try:
            with Path(file).open("rb") as stream:
                return stream.read(LONGEST).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ShapeError(Problem(FILE, f"{file}: {reason[:1].lower()}{reason[1:]}", "", "file")) from None
    if sys.stdin is not None and sys.stdin.isatty():
        tell("shapecalc: paste, then Ctrl-D")
    return read_stdin(LONGEST).decode("utf-8", "replace")


DOCTOR_COMMAND = Command(
    run=run_doctor,
    parameters=[
        Argument("file", "a file with a log, or the message itself; without it standard input", "[FILE|TEXT]", False),
        Option("model", "Also show the node of the message as it is in this model.", metavar="FILE.onnx"),
        *printing_options("json", "quiet"),
    ],
    summary="Say what a runtime's error message means, and what would mend it.",
    examples="""\
  shapecalc doctor build.log
  python train.py 2>&1 | shapecalc doctor
  shapecalc doctor "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600"
  shapecalc doctor run.log --model yolo.onnx
  trtexec --onnx=model.onnx 2>&1 | shapecalc doctor - --json""",
    more=""" It reads a whole log, and says which framework, op and node failed, with which
shapes and why; what would mend it; a command line that reproduces it; and which facts the message
leaves out. With --model it also shows the node as it is in the model. On a terminal: paste, then
Ctrl-D. Exit 0: understood; 1: not about a shape, or not known.""",
)


LINE = Argument(
    "line", "lines, a function or a class that end with one tensor; a file of them, or - for standard input", "'LINE'"
)
INPUT = Option(
    "input",
    "The tensor's name and shape, and those of others: 'x=N,C w=C,D'; or a shape alone.",
    metavar="[NAME=]SHAPE",
)


def _shape_of(text: str) -> Shape:
    """Parse the shape of a tensor; None and -1 are unknown dims, as in frameworks."""
    words = [token.text for token in tokens(text, "input")]
    unknown = {"-1", "None"} & {*words}
    return read_shape(f"[{','.join('?' if word in unknown else word for word in words)}]" if unknown else text)


def _inputs(text: str) -> list[str]:
    """Split the tensors of `--input`: NAME=SHAPE each, the first also without a name.

    >>> _inputs("x=2, 3 self.f(x, 1)=3,4")
    ['x=2, 3', 'self.f(x, 1)=3,4']
    """
    tensors = list[str]()
    for piece in split(text):
        if "=" in piece or not tensors:
            tensors.append(piece)
        else:
            tensors[-1] += f" {piece}"
    return tensors


def _sizes(text: str) -> dict[str, int | Shape]:
    """Parse `--where`: the sizes by name, and lists of sizes.

    >>> _sizes("self.heads=8,shape=2,3,B=4")
    {'shape': (2, 3), 'self.heads': 8, 'B': 4}
    """
    pieces = re.split(r",(?=[^,=]*=)", text)
    lists = {piece.partition("=")[0].strip(): piece.partition("=")[2] for piece in pieces if "," in piece}
    single = ",".join([piece for piece in pieces if "," not in piece])
    return {name: read_shape(dims, "where") for name, dims in lists.items()} | (read_sizes(single) if single else {})


def run_code(
    line: str, input: str | None, dialect: str | None, where: str | None, out: Output, **others: object
) -> int:
    """Answer the chain that some Python code computes; report the assumptions.

    The other options apply to every stage.
    """
    from shapecalc.core.code import cleaned, read_code  # imports `ast`

    text, source, is_path = line, None, isfile(line)  # noqa: PTH113 - it never raises
    try:
        text = cleaned(_text_of(line.strip()) if is_path or line.strip() == "-" else line)
        if "add_shuffle" in text:
            raise misuse("this builds TensorRT layers", "write shapecalc FILE 4,64,20,20, with its input")
        inputs = {name.strip(): dims for name, _, dims in (tensor.rpartition("=") for tensor in _inputs(input or ""))}
        for name, dims in [*inputs.items()][:1]:
            parsed = read_input(dims, {"dialect": dialect}, "reshape")
            inputs[name], source = parsed.shape, parsed.source
        sizes = {} if where is None else _sizes(where)
        code = read_code(text, {name: _shape_of(dims) for name, dims in inputs.items()}, dialect, sizes)
        for note in code.notes if not (out.quiet or out.json) else ():
            tell(f"shapecalc: {note}")
        stages = chain_with_options(code.stages, others)
        numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
        answer = answer_chain(code.shape, stages, {})
        return print_answer(answer, out, source if code.main else None, asked=[{"where": numbers}])
    except ShapeError as error:
        error = advised(error)
        if is_path:
            hint = error.problem.hint.replace("--input ", f"shapecalc {visible(quote(line))} ")
            error = ShapeError(replace(error.problem, hint=hint))
        return print_error(error, "code", {"line": text, "input": input}, out)


CODE_COMMAND = Command(
    run=run_code,
    parameters=[LINE, INPUT, *[option for option in ASKING.values() if option.name != "opset"], *PRINTING.values()],
    summary="Answer a line of PyTorch, NumPy, TensorFlow or JAX; it is read, never run.",
    examples="""\
  shapecalc code 'x.view(B, T, h, C // h).transpose(1, 2)' --input x=B,T,C
  shapecalc code 'x @ w + b' --input 'x=B,T,768 w=768,3072 b=3072'
  shapecalc code 'torch.zeros(2, 3, 4).flatten(1)'
  shapecalc code 'np.transpose(x, (0, 3, 1, 2))[:, None]' --input x=N,H,W,C
  shapecalc code "rearrange(x, 'b (h w) c -> b c h w', h=14)" --input x=8,196,768 -e""",
    more=""" It answers as chain does, for a statement, for several, for a function or for the last one
of a file. Every name but a tensor's is a size; --where gives numbers to names, and lists of them.
Tensors that the code makes have their shapes. Shapes in comments are compared. Without --dialect,
the modules and methods in the code decide whose rules apply.""",
)
