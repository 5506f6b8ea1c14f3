"""The declarations of all commands.

A command of an op is derived from the op. The other commands are declared in the modules of `COMMAND_MODULES`. These
modules are imported on demand. Typer only generates shell completions; it does not parse command lines.
"""

from __future__ import annotations

from shapecalc.cli.answer import run_op_command
from shapecalc.cli.output_options import OUTPUT_OPTIONS as OUTPUT_OPTIONS
from shapecalc.cli.output_options import OutputOptions
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, all_params
from shapecalc.core.record import Record, import_attribute, replace
from shapecalc.reading.options import (
    HELP,
    Option,
    OptionKind,
    OptionLookup,
    assign_positional,
    check_required,
    default_values,
    option_from_param,
    parse_words,
    rule_options,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from shapecalc.core.dialects.base import Param
    from shapecalc.core.ops.op import Op


class Argument(Record):
    """A positional argument of a command."""

    name: str
    help: str
    metavar: str
    required: bool = True
    repeated: bool = False
    completions: Callable[[], Iterable[str]] | None = None
    completes_only_first_word: bool = False
    """Whether only the first word of a repeated argument is completed."""


class Command(Record):
    """A command: its parameters, its help, and the function that runs it."""

    run: Callable[..., int]
    """Function that runs the command and returns its exit code.

    Its arguments are the values of the parameters by name, and the values of output options as one `OutputOptions`.
    """
    parameters: Sequence[Argument | Option]
    summary: str
    examples: str
    """Example command lines in the help, one per line."""
    details: str = ""
    """Text after the summary in the help."""
    takes_app: bool = False
    """Whether `run` has the argument `app`, the terminal app."""
    takes_text: bool = False
    """Whether `run` has the argument `text`: the text to read instead of standard input, or None."""
    accepts_unknown_options: bool = False
    """Whether unknown options are accepted as options of a nested command line."""
    name: str = ""
    """Name of the command, set by `load_command`."""

    @property
    def help(self) -> str:
        """Help text: the examples, the summary and the details."""
        return f"\b\n{self.examples}\n\n{self.summary}{self.details}"

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """Parse the words of a command line into values by parameter name.

        Omitted parameters have their defaults. With `--help`, only the value of `--help` is returned.
        Raises `ShapeError` (usage) for unknown options, and for missing or extra values.
        """
        arguments = [parameter for parameter in self.parameters if isinstance(parameter, Argument)]
        options = [parameter for parameter in self.parameters if isinstance(parameter, Option)]
        plain_values, parsed = parse_words(
            words, OptionLookup([*options, HELP]), self.name, allow_unknown=self.accepts_unknown_options
        )
        if HELP.name in parsed:
            return parsed
        last = len(arguments) - 1
        is_last_repeated = arguments and arguments[-1].repeated
        positional: list[Any] = [*plain_values[:last], plain_values[last:]] if is_last_repeated else plain_values
        parsed = assign_positional(
            [value for value in positional if value != []],
            [argument.name for argument in arguments],
            parsed,
            self.name,
        )
        check_required(parsed, {argument.name: argument.metavar for argument in arguments if argument.required})
        return {**dict.fromkeys(argument.name for argument in arguments), **default_values(options), **parsed}


def command_line_argument(help_text: str, metavar: str, *other_commands: str, required: bool = True) -> Argument:
    """Return an argument that holds the command line of another command.

    That command is an op or one of `other_commands`.
    """
    completions = [*OPS, *other_commands]
    return Argument("words", help_text, metavar, required, True, lambda: completions, completes_only_first_word=True)


DIALECT_FILTER = Option(
    "dialect", "Only this dialect; may be repeated.", OptionKind.TEXTS, short="-d", completions=lambda: DIALECTS
)
GITHUB_OPTION = Option("github", "Print failures as GitHub Actions annotations.", OptionKind.FLAG)
INPUT_ARGUMENT = Argument(
    "input",
    "the input shape, such as 2,3,4, 2x3x4 or N,C,H,W; a file, such as x.npy or x.zarr; or - for standard input",
    "INPUT",
)


def select_output_options(*names: str) -> list[Option]:
    """Return the output options with the given names."""
    return [OUTPUT_OPTIONS[name] for name in names]


def op_command_parameters(op: Op) -> list[Argument | Option]:
    """Return the arguments and options of an op's command, in the order of its help."""
    params = all_params(op)
    arguments = [
        _positional_argument(param) for name in op.positional_param_names for param in params if param.name == name
    ]
    op_options = [option_from_param(param) for param in params if not param.positional]
    return [INPUT_ARGUMENT, *arguments, *op_options, *rule_options(op), *OUTPUT_OPTIONS.values()]


def _positional_argument(param: Param) -> Argument:
    """Return the argument of an op's command for a positional parameter."""
    words, name = param.completions, param.name.upper()
    required = param.required and param.positional
    metavar = name if required else f"[{name}{'...' if name in ('OPERANDS', 'LENGTHS') else ''}]"
    return Argument(param.name, param.help, metavar, required, completions=(lambda: words) if words else None)


COMMAND_GROUPS = {
    "models, code and shapes": {
        "doctor": "pasted",
        "model": "model",
        "code": "pasted",
        "check": "check",
        "match": "match",
        "size": "info",
        "explain": "info",
    },
    "chains and frameworks": {"chain": "chain"}
    | dict.fromkeys(("equiv", "against", "simplify", "invert", "find", "compare"), "chains"),
    "visualize and learn": {"tui": "terminal", "serve": "terminal"}
    | {name: name for name in ("drill", "film", "site", "repl")},
    "reference": dict.fromkeys(("help", "why", "dialects"), "info") | {"config": "config"},
    "for programs": {"mcp": "mcp", "vectors": "info", "backends": "info", "completion": "completion"},
}
"""The module of each command that is not an op, grouped as in the help."""
COMMAND_MODULES = {name: module for group in COMMAND_GROUPS.values() for name, module in group.items()}
"""The module of each command that is not an op, by command name."""


def load_command(name: str) -> Command:
    """Return a command by name.

    The module of a command that is not an op is imported.
    """
    if name in OPS:
        return _op_command(OPS[name])
    command: Command = import_attribute(f"shapecalc.cli.{COMMAND_MODULES[name]}", f"{name.upper()}_COMMAND")
    return replace(command, name=name)


def _op_command(op: Op) -> Command:

    def run_op(output_options: OutputOptions, **texts: object) -> int:
        return run_op_command(op.name, texts, output_options)

    examples = "\n".join(f"  shapecalc {example}" for example in op.examples)
    return Command(run_op, op_command_parameters(op), op.summary, examples, name=op.name)
