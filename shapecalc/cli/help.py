"""The help of a command, formatted from the table of commands."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import TextWrapper

from shapecalc.cli.options import Argument, load_command
from shapecalc.cli.output_options import OUTPUT_OPTIONS
from shapecalc.core.ops import OPS, all_params, supporting_dialects
from shapecalc.core.ops.op import operator_of
from shapecalc.core.requests import switch_name
from shapecalc.reading.options import HELP, RULE_OPTIONS, VALUE_KINDS, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.options import Command
    from shapecalc.core.dialects.base import Dialect, Param
    from shapecalc.core.ops.op import Op

    HelpRows = list[tuple[str, str]]
    """The lines of a section: names of arguments or options, with their descriptions."""

MIN_WIDTH, MAX_WIDTH = 50, 78
"""The minimum and the maximum line length of the help, in characters."""
MAX_NAME_WIDTH = 30
"""The maximum width of the first column; the description of a longer name begins on the next line."""
RAW_PARAGRAPH = "\b\n"
"""The prefix that marks a paragraph whose lines must not be wrapped."""
SHARED_OPTIONS_NOTE = "All ops have --dialect, --expect, --explain, --json and more: shapecalc help options"
EPILOG = 'On Windows, quote shapes and chains: shapecalc reshape "2,3,4" "0,-1"'
"""The last line of an op's help: PowerShell splits unquoted words at commas."""


def help_text(name: str) -> str:
    """Return the help of a command.

    >>> print(help_text("backends"))
    Usage: shapecalc backends [OPTIONS]
    <BLANKLINE>
        shapecalc backends
        shapecalc backends --json
    <BLANKLINE>
      List the backends with their versions, devices and memory.
    <BLANKLINE>
    Options:
      --json      Print the answer as JSON, with all details.
      -h, --help  Show this message and exit.
    """
    command, width = load_command(name), max(MIN_WIDTH, min(get_terminal_size().columns - 2, MAX_WIDTH))
    paragraphs = [_usage_text(command, width), _wrap_paragraphs(command.help, width, "  ")]
    paragraphs += [_section_text(title, rows, width) for title, rows in _help_sections(command).items() if rows]
    if name in OPS:
        paragraphs += [SHARED_OPTIONS_NOTE, _wrap_paragraphs(EPILOG, width, "  ")]
    return "\n\n".join(paragraphs)


def _usage_text(command: Command, width: int) -> str:
    """Return the usage line of a command, with required arguments in braces."""
    metavars = [parameter.metavar for parameter in command.parameters if isinstance(parameter, Argument)]
    words = " ".join(["[OPTIONS]", *(text if text[:1] == "[" else f"{{{text}}}" for text in metavars)])
    prefix = f"Usage: shapecalc {command.name} "
    return "\n".join(TextWrapper(width, initial_indent=prefix, subsequent_indent=" " * len(prefix)).wrap(words))


def _wrap_paragraphs(text: str, width: int, indent: str = "") -> str:
    """Wrap the paragraphs of a text, except those with the prefix `RAW_PARAGRAPH`."""
    wrapper = TextWrapper(width, initial_indent=indent, subsequent_indent=indent)
    return "\n\n".join(
        "\n".join(f"{indent}{line}" for line in paragraph.splitlines()[1:])
        if paragraph.startswith(RAW_PARAGRAPH)
        else wrapper.fill(paragraph)
        for paragraph in text.strip().split("\n\n")
    )


def _section_text(title: str, rows: HelpRows, width: int) -> str:
    """Format a section of the help: its title, and a table of names and descriptions."""
    column = min(max(len(name) for name, _ in rows), MAX_NAME_WIDTH) + 2
    lines = [f"{title}:"]
    for name, description in rows:
        first, *others = _wrap_paragraphs(description, max(width - column - 2, 10)).splitlines()
        if len(name) > MAX_NAME_WIDTH:
            lines.append(f"  {name}")
            name = ""
        lines += [f"  {name.ljust(column)}{first}", *(f"  {'':{column}}{line}" for line in others)]
    return "\n".join(lines)


def _help_sections(command: Command) -> dict[str, HelpRows]:
    """Return the sections of a command's help: the rows of each section, by title.

    The options of an op that its default dialect lacks are in separate sections. The options that all ops share are
    omitted.
    """
    op = OPS.get(command.name)
    rows: dict[str, HelpRows] = {"Arguments": [], "Options": []}
    for parameter in (*command.parameters, HELP):
        if isinstance(parameter, Argument):
            rows["Arguments"].append((parameter.metavar, f"{parameter.help}{'  [required]' * parameter.required}"))
        elif not (op and (parameter.name in OUTPUT_OPTIONS or parameter.name in RULE_OPTIONS)):
            owners = "" if op is None else format_option_dialects(op, parameter.name)
            rows.setdefault(f"Options of {owners}" if owners else "Options", []).append(_option_row(parameter))
    return rows


def _option_row(option: Option) -> tuple[str, str]:
    """Return the spellings and the description of an option, as a row of the help."""
    off = [spelling for spelling, value in option.spellings().items() if value is False]
    name = " / ".join([", ".join(filter(None, (option.short, option.spelling))), *off])
    names = option.completions() if option.lists_completions and option.completions else ()
    description = f"{option.help}: {', '.join(names)}" if names else option.help
    default = f"  [default: {option.default}]" if option.shows_default else ""
    return f"{name} {option.metavar}" if option.kind in VALUE_KINDS else name, f"{description}{default}"


def format_option_dialects(op: Op, option_name: str) -> str:
    """Format the dialects that have an option which the op's default dialect lacks.

    The names are joined by commas. The result is empty if the default dialect has the option.

    >>> format_option_dialects(OPS["reshape"], "reverse"), format_option_dialects(OPS["reshape"], "allowzero")
    ('mxnet', '')
    """
    param = next((param for param in all_params(op) if param.name == option_name), None)
    owners = [
        dialect.name for dialect in supporting_dialects(op) if _dialect_has_option(op, dialect, param, option_name)
    ]
    return "" if op.default_dialect in owners else ", ".join(owners)


def _dialect_has_option(op: Op, dialect: Dialect, param: Param | None, name: str) -> bool:
    """Return whether an op has the option `name` in a dialect.

    `param` is the parameter with this name, or None if the option is the switch of a dialect, such as `allowzero`.
    """
    if param is None:
        return switch_name(op, dialect) == name
    operator = operator_of(op, dialect)
    return param.is_supported_by(dialect) and (
        param in op.params or (operator is not None and param in operator.params)
    )
