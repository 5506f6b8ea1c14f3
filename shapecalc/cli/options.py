"""The options of commands as tables: each stands here once, with its one help text.

Typer's commands are made of these tables, and so is the way around Typer for ops. Nothing here imports Typer.
"""

from __future__ import annotations

from shapecalc.core.ask import DEFAULT_OPSET, switch_name, switches
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import KNOWN, Holds
from shapecalc.core.ops import dialects_with, params_of
from shapecalc.core.problem import misuse
from shapecalc.core.record import Choice, Record
from shapecalc.core.text import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from shapecalc.core.dialects.base import Param
    from shapecalc.core.ops.op import Op


MOST_DIGITS = 9
"""How many digits a number of an option may have."""


class Takes(Choice):
    """What an option takes on a command line."""

    NOTHING = "nothing: it is there or not"
    MORE = "nothing, or =all, which asks for everything"
    SWITCH = "nothing: it is on, or off as --no-..."
    TEXT = "a text"
    TEXTS = "a text each time that it is written"
    NUMBER = "a whole number"


ALL = "=all"
"""What follows the name of an option that asks for everything; Typer is told it as the option twice."""


class Option(Record):
    """One option of a command."""

    name: str
    help: str
    takes: Takes = Takes.TEXT
    metavar: str = "NAME"
    """What the help calls its value."""
    long: str = ""
    """Its spelling, if that is not `--` and the name."""
    short: str = ""
    default: Any = None
    completions: Callable[[], Iterable[str]] | None = None
    """What a shell offers as its value."""
    lists_completions: bool = False
    """Whether the help goes on with what a shell offers."""
    shows_default: bool = False
    """Whether the help shows the default."""
    least: int = 0
    most: int = 0
    """The range of its number."""

    @property
    def spelling(self) -> str:
        """How it is written in full.

        >>> Option("follow_out", "...").spelling
        '--follow-out'
        """
        return self.long or f"--{self.name.replace('_', '-')}"


def read_number(option: Option, text: str | None) -> int | None:
    """Return the number that an option was given; None if it was not given.

    Raises `ShapeError` (usage) for a number that is out of range, and for what is no number.

    >>> jobs = Option("jobs", "...", Takes.NUMBER, least=1, most=256)
    >>> read_number(jobs, "4"), read_number(jobs, None)
    (4, None)
    """
    if text is None:
        return None
    word = text.strip()
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and option.least <= int(word) <= option.most:
        return int(word)
    shown = visible(brief(word))
    raise misuse(f"{option.spelling} is a whole number from {option.least} to {option.most}, not '{shown}'")


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

    name: str
    run: Callable[..., int]
    """Called with the values of the parameters by name; those that say what is printed come together, as `out`."""
    parameters: Sequence[Argument | Option]
    summary: str
    examples: str
    """Command lines for its help, a line each."""
    more: str = ""
    """What the help goes on with after the summary."""
    with_context: bool = False
    """Whether it is called with Typer's `context`, too."""
    takes_unknown: bool = False
    """Whether options that it does not know are words to it: those of an op's line."""

    @property
    def help(self) -> str:
        """The text of its help: examples first, then what it does."""
        return f"\b\n{self.examples}\n\n{self.summary}{self.more}"


def _opsets() -> list[str]:
    """Return every ONNX opset that some dialect knows."""
    return [str(opset + 1) for opset in range(max(row.newest_opset or 0 for row in DIALECTS.values()))]


def _backends() -> Iterable[str]:
    from shapecalc.engine.execute import NAMES

    return NAMES


def _themes() -> Iterable[str]:
    from shapecalc.view.files import PAPERS

    return PAPERS


def _targets() -> Iterable[str]:
    from shapecalc.view.code import TARGETS

    return TARGETS


def by_name(*options: Option) -> dict[str, Option]:
    """Return options by name, in order."""
    return {option.name: option for option in options}


ASKING = by_name(
    Option("dialect", "Whose rules", short="-d", completions=lambda: DIALECTS, lists_completions=True),
    Option("opset", f"The model's ONNX opset; {DEFAULT_OPSET} by default.", metavar="N", completions=_opsets),
    Option(
        "dtype",
        "The element type, in NumPy's or the framework's spelling; refused if the operator refuses it.",
        completions=lambda: sorted(KNOWN),
    ),
    Option("where", "Sizes for names: N=8,C=3.", metavar="SIZES"),
)
"""The options that decide whose rules apply, and to which sizes."""
DIALECTS_ONLY = Option(
    "dialect", "Only this one; may be repeated.", Takes.TEXTS, short="-d", completions=lambda: DIALECTS
)
SWITCH_HELP = {
    "allowzero": "ONNX, since opset 14: 0 is a dim of size zero.",
    "special_zero": "oneDNN and OpenVINO, required there: 0 copies a dim.",
    "zero_is_placeholder": "TensorRT, on by default: 0 copies a dim.",
}


def _switch_help(name: str) -> str:
    """Return what the help says of a dialect's switch."""
    having = [row.name for row in DIALECTS.values() if row.switch is not None and row.switch.name == name]
    return SWITCH_HELP.get(name) or f"{', '.join(having)}: 0 {switches()[name].value}."


SWITCHING = by_name(*(Option(name, _switch_help(name), Takes.SWITCH) for name in sorted(switches())))
"""The dialects' switches."""
MOST_STEPS = 99_999
"""The last step that may be asked for; more than an answer has."""
THEME = Option("theme", "The background of a picture: light or dark.", completions=_themes)
PRINTING = by_name(
    Option(
        "explain",
        "Print every step and the most useful picture, on standard error; with =all, every picture.",
        Takes.MORE,
        short="-e",
    ),
    Option("json", "Print the answer as JSON, with everything that led to it.", Takes.NOTHING),
    Option("expect", "Exit 1 unless the answer is this shape, or fits this pattern: N,?,...", metavar="SHAPE"),
    Option("quiet", "Print nothing; the exit code is the answer.", Takes.NOTHING, short="-q"),
    Option("strict", "Exit 1 if the answer holds only under conditions.", Takes.NOTHING),
    Option("values", "Show elements before and after: 0, 1, 2 ... or the file's.", Takes.NOTHING),
    Option("follow", "Tell where this input element goes, stage by stage.", metavar="INDEX"),
    Option("follow_out", "Tell where this output element came from.", metavar="INDEX"),
    Option("out", "Do it to the data of INPUT, and write this .npy file or .zarr store.", metavar="FILE", short="-o"),
    Option("force", "Write over an output or a picture that exists.", Takes.NOTHING),
    Option("backend", "What moves the data: auto, numpy or cupy.", default="auto", completions=_backends),
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
    Option("cluster", "Where the data of a store is moved: local:N or tcp://HOST:PORT.", metavar="WHERE"),
    Option(
        "code",
        "Print code that does the same, in place of the answer",
        long="--as",
        completions=_targets,
        lists_completions=True,
    ),
    Option("picture", "Write a picture of the answer or of a --step into this .svg, .png or .html.", metavar="FILE"),
    Option("step", "The step of the picture; without it, the main one.", Takes.NUMBER, "N", least=1, most=MOST_STEPS),
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
    """Return the arguments and options of an op's command, in the order in which its help lists them."""
    params = params_of(op)
    placed = [_argument_of(param) for param in params if param.placed]
    return [INPUT, *placed, *map(_parameter_of, params), *asking_options(op), *PRINTING.values()]


def _argument_of(param: Param) -> Argument:
    """Return how a command line has a parameter that is given by its place."""
    words, name = param.words, param.name.upper()
    required = param.required and param.positional
    metavar = name if required else f"[{name}]"
    return Argument(param.name, param.help, metavar, required, completions=(lambda: words) if words else None)


def _parameter_of(param: Param) -> Argument | Option:
    """Return how a command line has one parameter: a switch for yes or no, otherwise a text, which the core reads."""
    words = param.words
    completions = (lambda: words) if words else None
    if param.positional:
        return _argument_of(param)
    said = f"{param.help[:1].upper()}{param.help[1:]}."
    if param.holds is Holds.FLAG:
        return Option(param.name, said, Takes.SWITCH)
    metavar = {
        Holds.AXES: "AXES",
        Holds.PERM: "AXES",
        Holds.SLICES: "SLICES",
        Holds.PATTERN: "PATTERN",
        Holds.LENGTHS: "LENGTHS",
        Holds.INT: "I",
        Holds.TARGET: "SHAPE",
        Holds.WORD: "|".join(words),
    }[param.holds]
    return Option(param.name, said, metavar=metavar, completions=completions)


def asking_options(op: Op) -> list[Option]:
    """Return the options that decide whose rules apply; of the switches, those that some dialect has for the op."""
    switches = {switch_name(op, row) for row in dialects_with(op)}
    return [*ASKING.values(), *(option for option in SWITCHING.values() if option.name in switches)]
