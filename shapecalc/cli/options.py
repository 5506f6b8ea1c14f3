"""The table of commands, with the options that say what is printed. Typer makes help of it, and is not imported."""

from __future__ import annotations

from importlib import import_module

from shapecalc.cli.answer import answer_op
from shapecalc.cli.output import Output
from shapecalc.core import commands
from shapecalc.core.commands import HELP, Option, Takes
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from shapecalc.core.dialects.base import Param
    from shapecalc.core.ops.op import Op


class Argument(Record):
    """One argument of a command, which is given by its place."""

    name: str
    help: str
    metavar: str
    required: bool = True
    repeated: bool = False
    completions: Callable[[], Iterable[str]] | None = None
    completes_first: bool = False
    """Whether a shell offers the completions for the first of repeated words only."""


class Command(Record):
    """One command: what it takes, what it does, and what its help says."""

    run: Callable[..., int]
    """Called with the values of the parameters by name; those that say what is printed come together, as `out`."""
    parameters: Sequence[Argument | Option]
    summary: str
    examples: str
    """Command lines for its help, a line each."""
    more: str = ""
    """What the help goes on with after the summary."""
    opens_app: bool = False
    """Whether it is called with the terminal `app`, too."""
    takes_unknown: bool = False
    """Whether options that it does not know are words to it: those of an op's line."""
    name: str = ""
    """Given by the table of commands, or by the op."""

    @property
    def help(self) -> str:
        """The text of its help: examples first, then what it does."""
        return f"\b\n{self.examples}\n\n{self.summary}{self.more}"

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return what a line gives by name, and what stands for the rest; raise `ShapeError` (usage) for other words.

        Help is always given, and alone.
        """
        arguments = [each for each in self.parameters if isinstance(each, Argument)]
        options = [each for each in self.parameters if isinstance(each, Option)]
        values, given = commands.sort_words(
            words, commands.Spellings([*options, HELP]), self.name, takes_unknown=self.takes_unknown
        )
        if HELP.name in given:
            return given
        last = len(arguments) - 1
        placed: list[Any] = [*values[:last], values[last:]] if arguments and arguments[-1].repeated else values
        given = commands.place_values(
            [value for value in placed if value != []], [each.name for each in arguments], given, self.name
        )
        commands.check_needed(given, {each.name: each.metavar for each in arguments if each.required})
        return {each.name: _default_of(each) for each in self.parameters} | given


def command_words(help: str, metavar: str, *others: str, required: bool = True) -> Argument:
    """Return the argument that takes the command line of an op, or of other commands."""
    completions = [*OPS, *others]
    return Argument("words", help, metavar, required, True, lambda: completions, completes_first=True)


def _default_of(parameter: Argument | Option) -> Any:
    """Return what stands for a parameter that is not given."""
    if isinstance(parameter, Argument):
        return None
    if parameter.default is not None:
        return parameter.value(parameter.default)
    return {Takes.NOTHING: False, Takes.MORE: 0}.get(parameter.takes)


def names_in(module: str, table: str) -> Callable[[], Iterable[str]]:
    """Return what gives the names in a table of a module, which is imported when they are asked for."""
    return lambda: getattr(import_module(f"shapecalc.{module}"), table)


DIALECTS_ONLY = Option(
    "dialect", "Only this one; may be repeated.", Takes.TEXTS, short="-d", completions=lambda: DIALECTS
)
MOST_STEPS = 99_999
"""The last step that may be asked for; more than an answer has."""
THEME = Option("theme", "The background of a picture: light or dark.", completions=names_in("view.files", "PAPERS"))
PRINTING = commands.by_name(
    Option(
        "explain", "Print steps and a picture, on standard error; --explain=all: every picture.", Takes.MORE, short="-e"
    ),
    Option("json", "Print the answer as JSON, with everything that led to it.", Takes.NOTHING),
    Option("expect", "Exit 1 unless the answer is this: a shape, a pattern (N,?,...), error RULE.", metavar="SHAPE"),
    Option("quiet", "Print nothing; the exit code is the answer.", Takes.NOTHING, short="-q"),
    Option("strict", "Exit 1 if the answer holds only under conditions.", Takes.NOTHING),
    Option("values", "Show elements before and after: 0, 1, 2 ... or the file's.", Takes.NOTHING),
    Option("follow", "Tell where this input element goes, stage by stage.", metavar="INDEX"),
    Option("follow_out", "Tell where this output element came from.", metavar="INDEX"),
    Option("out", "Do it to the data of INPUT, and write this .npy file or .zarr store.", metavar="FILE", short="-o"),
    Option("force", "Write over an output or a picture that exists.", Takes.NOTHING),
    Option("backend", "What moves the data: auto or numpy.", default="auto", completions=lambda: ("auto", "numpy")),
    Option("plan", "Print what writing a store would cost, and stop.", Takes.NOTHING),
    Option("memory", "How much memory a worker may use for a store; 512MiB by default.", metavar="SIZE"),
    Option("chunks", "The chunks of the output store.", metavar="SIZES"),
    Option("resume", "Go on with an output store that was interrupted.", Takes.NOTHING),
    Option(
        "verify",
        "Compare an output store with its source: sample or all.",
        metavar="HOW",
        completions=lambda: ("sample", "all"),
    ),
    Option("cluster", "Where a store's data is moved: local:N, tcp://HOST:PORT or tls://HOST:PORT.", metavar="WHERE"),
    Option(
        "code",
        "Print code that does the same, in place of the answer",
        long="--as",
        completions=names_in("view.code", "TARGETS"),
        lists_completions=True,
    ),
    Option("picture", "Write a picture of the answer or of a --step into this .svg, .png or .html.", metavar="FILE"),
    Option("step", "The picture's step, 0 for the question; else the main one.", Takes.NUMBER, "N", most=MOST_STEPS),
    THEME,
    Option("width", "How many characters wide the picture is; 80 by default.", Takes.NUMBER, "N", least=40, most=400),
    Option("no_config", "Use no defaults from the environment or pyproject.toml.", Takes.NOTHING),
)
"""The options that say what is printed, and whether defaults count. The fields of `Output` have the same names."""
INPUT = Argument(
    "input",
    "the input shape: 2,3,4, [2, 3, 4], 2x3x4, N,C,H,W; - reads it from standard input, x.npy or x.zarr from that file",
    "INPUT",
)


def printing_options(*names: str) -> list[Option]:
    """Return those of the options of output that a command has."""
    return [PRINTING[name] for name in names]


def parameters_of(op: Op) -> list[Argument | Option]:
    """Return the arguments and options of an op's line, in the order in which its help lists them."""
    params = params_of(op)
    arguments = [_argument_of(param) for name in op.places for param in params if param.name == name]
    others = [commands.option_of(param) for param in params if not param.positional]
    return [INPUT, *arguments, *others, *commands.asking_options(op), *PRINTING.values()]


def _argument_of(param: Param) -> Argument:
    """Return how a line has a parameter that is given by its place."""
    words, name = param.words, param.name.upper()
    required = param.required and param.positional
    metavar = name if required else f"[{name}{'...' if name in ('OPERANDS', 'LENGTHS') else ''}]"
    return Argument(param.name, param.help, metavar, required, completions=(lambda: words) if words else None)


EPILOG = 'On Windows, quote shapes and chains: shapecalc reshape "2,3,4" "0,-1"'
"""The end of the help: PowerShell splits words at commas."""
GROUPS = {
    "models, code and shapes": {
        "doctor": "pasted",
        "model": "model",
        "code": "pasted",
        "check": "check",
        "match": "check",
        "size": "info",
    },
    "chains and frameworks": dict.fromkeys(("chain", "equiv", "simplify", "find", "compare"), "chains"),
    "to see and to learn": {"tui": "terminal", "serve": "terminal"}
    | {name: name for name in ("drill", "film", "site", "repl")},
    "to look up": dict.fromkeys(("help", "why", "dialects"), "info"),
    "for programs": {"mcp": "mcp", "vectors": "info", "backends": "info"},
}
"""The commands that are not ops, by what they are for, in the order of the help, each with its module."""
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}


def command_named(name: str) -> Command:
    """Return a command. The module of one that is no op is imported when it is asked for."""
    if name in OPS:
        return _op_command(OPS[name])
    found: Command = getattr(import_module(f"shapecalc.cli.{COMMANDS[name]}"), f"{name.upper()}_COMMAND")
    return replace(found, name=name)


def _op_command(op: Op) -> Command:
    """Return the command of an op."""

    def run_op(out: Output, **texts: object) -> int:
        return answer_op(op.name, texts, out)

    examples = "\n".join(f"  shapecalc {example}" for example in op.examples)
    return Command(run_op, parameters_of(op), op.summary, examples, name=op.name)
