"""The table of commands, and the options that control the output.

Typer builds the help from this table, and is imported only for the help.
"""

from __future__ import annotations

from importlib import import_module

from shapecalc.cli.answer import answer_op
from shapecalc.cli.output import OutputOptions
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.record import Record, replace
from shapecalc.reading.options import (
    HELP,
    Option,
    OptionKind,
    OptionLookup,
    assign_positional,
    check_required,
    option_from_param,
    options_by_name,
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
    completes_first: bool = False
    """Whether only the first word of a repeated argument is completed."""


class Command(Record):
    """A command: the function that runs it, its parameters and its help."""

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
    opens_app: bool = False
    """Whether `run` also takes the terminal app, as the argument `app`."""
    accepts_unknown_options: bool = False
    """Whether unknown options are accepted as words of a nested command line."""
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
        return {parameter.name: _default_value(parameter) for parameter in self.parameters} | parsed


def command_line_argument(help_text: str, metavar: str, *others: str, required: bool = True) -> Argument:
    """Return an argument that takes the command line of an op or another command."""
    completions = [*OPS, *others]
    return Argument("words", help_text, metavar, required, True, lambda: completions, completes_first=True)


def _default_value(parameter: Argument | Option) -> Any:
    """Return the value of a parameter that the user omits."""
    if isinstance(parameter, Argument):
        return None
    if parameter.default is not None:
        return parameter.parse_value(parameter.default)
    return {OptionKind.FLAG: False, OptionKind.FLAG_OR_ALL: 0}.get(parameter.kind)


def lazy_names(module: str, table: str) -> Callable[[], Iterable[str]]:
    """Return a function that lists the keys of a table in a module.

    The module is imported only when the function is called.
    """
    return lambda: getattr(import_module(f"shapecalc.{module}"), table)


DIALECT_FILTER = Option(
    "dialect", "Only this dialect; may be repeated.", OptionKind.TEXTS, short="-d", completions=lambda: DIALECTS
)
MAX_STEP = 99_999
"""Maximum value of `--step`; no answer has this many steps."""
THEME_OPTION = Option(
    "theme", "Background of the picture: light or dark.", completions=lazy_names("render.files", "PAGE_COLOURS")
)
OUTPUT_OPTIONS = options_by_name(
    Option(
        "explain",
        "Print the steps and a picture on standard error; --explain=all: every picture.",
        OptionKind.FLAG_OR_ALL,
        short="-e",
    ),
    Option("json", "Print the answer as JSON, with all details.", OptionKind.FLAG),
    Option("expect", "Exit 1 unless the answer matches: a shape, a pattern (N,?,...) or error RULE.", metavar="SHAPE"),
    Option("quiet", "Print nothing; the exit code is the answer.", OptionKind.FLAG, short="-q"),
    Option("strict", "Exit 1 if the answer holds only under conditions.", OptionKind.FLAG),
    Option("values", "Show the elements before and after: those of the file, else 0, 1, 2 ...", OptionKind.FLAG),
    Option("follow", "Trace this input element through the stages.", metavar="INDEX"),
    Option("follow_out", "Trace this output element back to the input.", metavar="INDEX"),
    Option(
        "out", "Transform the data of INPUT, and write it to this .npy file or .zarr store.", metavar="FILE", short="-o"
    ),
    Option("force", "Overwrite an existing output or picture.", OptionKind.FLAG),
    Option("backend", "Backend for the data: auto or numpy.", default="auto", completions=lambda: ("auto", "numpy")),
    Option("plan", "Print the cost of writing a store, and write nothing.", OptionKind.FLAG),
    Option("memory", "Memory limit of a worker for stores; 512MiB by default.", metavar="SIZE"),
    Option("chunks", "Chunk shape of the output store.", metavar="SIZES"),
    Option("resume", "Resume writing an interrupted output store.", OptionKind.FLAG),
    Option(
        "verify",
        "Compare an output store with its source: sample or all.",
        metavar="HOW",
        completions=lambda: ("sample", "all"),
    ),
    Option("cluster", "Cluster for stores: local:N, tcp://HOST:PORT or tls://HOST:PORT.", metavar="WHERE"),
    Option(
        "code",
        "Print equivalent code instead of the answer",
        long="--as",
        completions=lazy_names("render.code", "TARGETS"),
        lists_completions=True,
    ),
    Option("picture", "Write a picture of the answer, or of --step, to this .svg, .png or .html file.", metavar="FILE"),
    Option(
        "step", "Step to draw, 0 for the request; the main one by default.", OptionKind.NUMBER, "N", maximum=MAX_STEP
    ),
    THEME_OPTION,
    Option(
        "width",
        "Width of the picture in characters; 80 by default.",
        OptionKind.NUMBER,
        "N",
        minimum=40,
        maximum=400,
    ),
    Option("no_config", "Ignore defaults from the environment and pyproject.toml.", OptionKind.FLAG),
)
"""Options that control the output, by name; `OutputOptions` holds their values."""
INPUT_ARGUMENT = Argument(
    "input",
    "the input shape: 2,3,4, [2, 3, 4], 2x3x4, N,C,H,W; - reads it from standard input, x.npy or x.zarr from that file",
    "INPUT",
)


def select_output_options(*names: str) -> list[Option]:
    """Return the output options with the given names."""
    return [OUTPUT_OPTIONS[name] for name in names]


def op_command_parameters(op: Op) -> list[Argument | Option]:
    """Return the arguments and options of an op's command, in the order of its help."""
    params = params_of(op)
    arguments = [
        _positional_argument(param) for name in op.positional_param_names for param in params if param.name == name
    ]
    op_options = [option_from_param(param) for param in params if not param.positional]
    return [INPUT_ARGUMENT, *arguments, *op_options, *rule_options(op), *OUTPUT_OPTIONS.values()]


def _positional_argument(param: Param) -> Argument:
    """Return the argument for a positional parameter of an op."""
    words, name = param.choices, param.name.upper()
    required = param.required and param.positional
    metavar = name if required else f"[{name}{'...' if name in ('OPERANDS', 'LENGTHS') else ''}]"
    return Argument(param.name, param.help, metavar, required, completions=(lambda: words) if words else None)


EPILOG = 'On Windows, quote shapes and chains: shapecalc reshape "2,3,4" "0,-1"'
"""Last line of an op's help, since PowerShell splits unquoted words at commas."""
COMMAND_GROUPS = {
    "models, code and shapes": {
        "doctor": "pasted",
        "model": "model",
        "code": "pasted",
        "check": "check",
        "match": "match",
        "size": "info",
    },
    "chains and frameworks": dict.fromkeys(("chain", "equiv", "simplify", "find", "compare"), "chains"),
    "visualize and learn": {"tui": "terminal", "serve": "terminal"}
    | {name: name for name in ("drill", "film", "site", "repl")},
    "reference": dict.fromkeys(("help", "why", "dialects"), "info"),
    "for programs": {"mcp": "mcp", "vectors": "info", "backends": "info"},
}
"""Modules of the commands that are not ops, by group and name, in help order."""
COMMAND_MODULES = {name: module for group in COMMAND_GROUPS.values() for name, module in group.items()}
"""Module of each command that is not an op, by command name."""


def load_command(name: str) -> Command:
    """Return a command; import its module if it is not an op."""
    if name in OPS:
        return _op_command(OPS[name])
    command: Command = getattr(import_module(f"shapecalc.cli.{COMMAND_MODULES[name]}"), f"{name.upper()}_COMMAND")
    return replace(command, name=name)


def _op_command(op: Op) -> Command:
    def run_op(output_options: OutputOptions, **texts: object) -> int:
        return answer_op(op.name, texts, output_options)

    examples = "\n".join(f"  shapecalc {example}" for example in op.examples)
    return Command(run_op, op_command_parameters(op), op.summary, examples, name=op.name)
