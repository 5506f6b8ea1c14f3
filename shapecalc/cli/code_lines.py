"""Print the shapes of each line of code: as a listing, as JSON or as comments."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from shapecalc.cli.answer import write_file
from shapecalc.cli.output import OutputOptions, print_renderable, print_stderr, print_stdout, stderr_width
from shapecalc.cli.text_input import read_text
from shapecalc.core.problem import usage_error
from shapecalc.core.text import TypedShape, escape_unprintable, shape_text
from shapecalc.reading.code.annotate import annotate
from shapecalc.reading.code.lines import collect_code_lines, format_lines, result_names
from shapecalc.reading.code.results import StatementRecord, UnknownCall
from shapecalc.reading.code.source import normalize_pasted_code


def read_source(line: str, text: str | None) -> str:
    """Return the code in a file, in `text` for `-`, or in the line itself.

    Prompts and indentation are removed. Raises `ShapeError` (file) if the file cannot be read.
    """
    is_file = line == "-" or line.endswith(".py") or os.path.isfile(line)  # noqa: PTH113 - unlike `Path.is_file`, it never raises
    return normalize_pasted_code(read_text(line, text) if is_file else line)


def check_line_options(
    mode: str,
    path: str | None,
    output_options: OutputOptions,
    lines: bool | None,
    *,
    in_place: bool,
    github: bool,
    has_files: bool,
) -> None:
    """Raise `ShapeError` (usage) for an option that has no effect with the others.

    `mode` is the option that replaces the answer: `--annotate`, `--check`, or empty.
    """
    if in_place and not (mode == "--annotate" and path):
        raise usage_error("--in-place needs --annotate and a file", "write code FILE.py --annotate --in-place")
    if has_files and mode != "--check":
        raise usage_error("only --check reads several files", "write code --check FILE...")
    if github and mode != "--check":
        raise usage_error("--github needs --check", "write code --check FILE... --github")
    given = {
        "--lines": lines is not None,
        "--quiet": output_options.quiet and mode == "--annotate" and not in_place,
        "--json": output_options.json and (mode == "--annotate" or github),
        "--expect": output_options.expect is not None,
        "--explain": bool(output_options.explain),
        "--as": output_options.code is not None,
        "--values": output_options.values,
        "--out": output_options.out is not None,
        "--follow": output_options.follow is not None,
        "--picture": output_options.has_picture_options,
    }
    unused = next((name for name, is_given in given.items() if is_given), "") if mode else ""
    printed = {"--annotate": "the source", "--check": "what is not true"}
    if unused:
        raise usage_error(f"{mode} prints {printed[mode]}, so {unused} has no effect", "leave one of them out")


def print_lines(records: Sequence[StatementRecord], is_requested: bool | None, output_options: OutputOptions) -> None:
    """Print the shapes of each line to stderr.

    If `is_requested` is None, they are printed only if stderr is a terminal and the code has several lines.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if is_requested is False or output_options.json or output_options.quiet or not (is_requested or is_terminal):
        return
    lines = collect_code_lines(records)
    if not lines or (len(lines) < 2 and not is_requested):
        return
    from rich.text import Text

    entry = next((record.function for record in records if record.depth == 0), "")
    rows = format_lines(lines, entry, stderr_width())
    print_renderable(Text("\n".join(rows), no_wrap=True, overflow="ignore")) if is_terminal else print_stderr(
        "\n".join(rows)
    )


def print_command_for_unknown_calls(
    calls: Sequence[UnknownCall],
    path: str | None,
    inputs: Mapping[str, TypedShape],
    where: str | None,
    output_options: OutputOptions,
) -> None:
    """Print a command line that sets the results of unknown calls to stderr.

    Nothing is printed if the code is not in a file, that is, if `path` is None.
    """
    if not (calls and path) or output_options.json or output_options.quiet:
        return
    from shlex import join

    shapes = [call for call in calls if call.option == "input"]
    values = [call for call in calls if call.option == "where"]
    given = [f"{name}={shape_text(tensor.dims)}".lstrip("=") for name, tensor in inputs.items()]
    requested = [f"{call.call}={_format_proposal(call)}" for call in shapes]
    sizes = [f"{call.call}={call.placeholder if call.value is None else call.value}" for call in values]
    words = ["shapecalc", "code", path, *(["--input", " ".join([*given, *requested])] if given or requested else [])]
    words += ["--where", ",".join([*([where] if where else []), *sizes])] if where or sizes else []
    print_stderr(f"shapecalc: next: {escape_unprintable(join(words))}")
    names = ", ".join([call.call for call in shapes if call.proposal is not None])
    if names:
        print_stderr(f"shapecalc: proposed, as the shape of the first argument: {escape_unprintable(names)}")
    conditions = ", ".join([call.call for call in values if call.value is not None])
    if conditions:
        print_stderr(f"shapecalc: proposed, as a condition that does not hold: {escape_unprintable(conditions)}")


def _format_proposal(call: UnknownCall) -> str:
    """Format the proposed shape of a call's result.

    The shape is repeated for each tensor that the call returns.
    """
    text = "SHAPE" if call.proposal is None else shape_text(call.proposal)
    return text if call.count == 1 else ",".join([f"({text.strip('()')})"] * call.count)


def lines_json(records: Sequence[StatementRecord], result_count: int) -> dict[str, object]:
    """Return the lines of code and the names of the results as JSON fields.

    The name of an unnamed result is None.
    """
    lines = [line.as_json() for line in collect_code_lines(records)]
    return {"lines": lines, "output_names": result_names(records, result_count)}


def print_annotated(text: str, records: Sequence[StatementRecord], path: str | None, *, is_quiet: bool = False) -> None:
    """Print source code with the shapes of each line as comments.

    If `path` is a file name, the file is overwritten, and nothing is printed. Raises `ShapeError` (usage) if the text
    is not a source file, for example a session with prompts, and (file) if the file cannot be written.
    """
    if normalize_pasted_code(text) != text.rstrip() or "\N{REPLACEMENT CHARACTER}" in text:
        raise usage_error("only source in UTF-8, without prompts and indentation, can be annotated", argument="line")
    annotated = annotate(text, collect_code_lines(records))
    if path is None:
        print_stdout(annotated.removesuffix("\n"))
        return
    if annotated != text:
        write_file(path, annotated.encode(), force=True)
    changed = sum(before != after for before, after in zip(text.split("\n"), annotated.split("\n"), strict=True))
    if not is_quiet:
        print_stderr(f"shapecalc: {escape_unprintable(path)}: {changed} comments written")
