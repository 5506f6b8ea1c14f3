"""Find the failing line of a message in source code, and fix it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from shlex import quote

from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.diagnosis.context import FRAME, FUNCTIONS_BY_OP, CodeCall, FailingLine, find_call
from shapecalc.diagnosis.match import clean_lines, format_sizes
from shapecalc.diagnosis.reading import ParsedMessage
from shapecalc.diagnosis.subjects import Advice
from shapecalc.reading.code import interpret_code
from shapecalc.reasoning.answers import answer_chain

MAX_SOURCE_CHARS = 1 << 22
"""The maximum length of the source code in characters."""
TARGET_FIX = re.compile(r"write (-?\d+(?:,-?\d+)*)(?=:| if |$)")
"""A fix that writes a target, such as `write 2,-1: ...`."""
NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
LITERAL = re.compile(r"-?\d+")


def locate_in_source(message: ParsedMessage, text: str, source: str, name: str) -> ParsedMessage:
    """Replace the failing line of a message with its complete statement.

    The line is the innermost frame of `text` in the file `name`, or the only call of the message's op. The message is
    returned unchanged if neither is in the source.
    """
    statements = [*_iter_statements(source[:MAX_SOURCE_CHARS])]
    numbers = [
        int(frame["number"])
        for frame in map(FRAME.match, _strip_lines(text))
        if frame and _is_frame_in_file(frame, name)
    ]
    found = [(number, statement) for number, end, statement in statements if numbers and number <= numbers[-1] <= end]
    if not found and message.op in FUNCTIONS_BY_OP:
        calls = [row for row in statements if find_call(row[2], message.op, message.target)]
        found = [(number, statement) for number, _, statement in calls] if len(calls) == 1 else []
    if not found:
        return message
    number, statement = found[-1]
    call = find_call(statement, message.op, message.target)
    return replace(message, failing_line=FailingLine(statement, name, number), line=call or message.line)


def replace_fixes_with_code(message: ParsedMessage, advice: Advice) -> Advice:
    """Rewrite the fixes of a target as edits of the failing line.

    The command of a rewritten fix is `shapecalc code`. A fix is left unchanged if the edited call would also fail for
    the shapes in the message.
    """
    line, target = message.line, message.target
    if line is None or target is None or message.failing_line is None or message.failing_line.file is None:
        return advice
    fixes = list[tuple[str, str | None]]()
    for text, command in advice.fixes:
        written = TARGET_FIX.match(text)
        changed = change_call(line, target, written[1].split(",")) if written else None
        code_command = None if changed is None else _build_code_command(message, line, changed)
        if changed is None or code_command is None:
            fixes.append((text, command))
        else:
            fixes.append((f"write {changed}{text[len(written[0]) if written else 0 :]}", code_command))
    return replace(advice, fixes=tuple(fixes))


def _build_code_command(message: ParsedMessage, line: CodeCall, changed: str) -> str | None:
    """Return the `shapecalc code` command that runs a changed call.

    The inputs have the shapes of the message. Returns None if the call fails.
    """
    sizes = {
        text: size
        for text, size in zip(line.arguments, message.target or (), strict=False)
        if NAME.fullmatch(text) and text in changed and isinstance(size, int) and size >= 0
    }
    count = (message.elements,) if message.input is None else message.input
    dims = tuple(size for size in count if isinstance(size, int))
    if len(dims) != len(count) or not (line.tensor or "").isidentifier():
        return None
    try:
        code = interpret_code(changed, {str(line.tensor): dims}, message.dialect, dict(sizes))
        if answer_chain(code.input_shape, code.stages, {}).output is None:
            return None
    except ShapeError:
        return None
    where = ",".join(f"{name}={size}" for name, size in sizes.items())
    words = ["shapecalc", "code", changed, "--input", f"{line.tensor}={format_sizes(dims)}"]
    return " ".join(map(quote, [*words, *(["--where", where] if where else [])]))


def change_call(line: CodeCall, old: Sequence[object], new: Sequence[str]) -> str | None:
    """Return a call with its arguments changed from the sizes `old` to `new`.

    Arguments with an unchanged size keep their text.

    >>> from shapecalc.diagnosis.context import find_call
    >>> change_call(find_call("y = x.view(b, 3, self.dim)", "reshape"), (8, 3, 64), ("8", "-1", "64"))
    'x.view(b, -1, self.dim)'
    """
    texts, begin = line.arguments, line.text.rfind(f"{line.function}(") + len(line.function) + 1
    start, end = line.text.find(texts[0], begin), line.text.rfind(texts[-1]) + len(texts[-1])
    if start < 0 or end <= start:
        return None
    if len(texts) == len(old) == len(new):
        values = [text if str(before) == after else after for text, before, after in zip(texts, old, new, strict=True)]
    elif all(LITERAL.fullmatch(text) for text in texts):
        values = [*new]
    else:
        return None
    return f"{line.text[:start]}{', '.join(values)}{line.text[end:]}"


def _strip_lines(text: str) -> list[str]:
    return [line.strip() for line in clean_lines(text)]


def _is_frame_in_file(frame: re.Match[str], name: str) -> bool:
    """Return whether a frame is in the file `name`.

    Only the last part of the path is compared.
    """
    return re.split(r"[/\\]", frame["file"])[-1] == re.split(r"[/\\]", name)[-1]


def _iter_statements(source: str) -> Iterator[tuple[int, int, str]]:
    """Yield each simple statement on one line, with its first and last line number.

    If the source is not Python, each line is a statement.
    """
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from ((number, number, line.strip()) for number, line in enumerate(source.splitlines(), 1))
        return
    lines = source.splitlines()
    for node in nodes:
        if isinstance(node, ast.stmt) and not isinstance(getattr(node, "body", None), list):
            end = node.end_lineno or node.lineno
            text = " ".join(" ".join(lines[node.lineno - 1 : end]).split())
            yield node.lineno, end, re.sub(r",? \)", ")", text.replace("( ", "("))
