"""The commands that print information: `dialects`, `why`, `size`, `help` etc.

They print reference tables, the size of a shape, the test cases of each dialect and the manual. A rule is a condition
for a valid request, or a way to determine a dim; it has an id, such as `two-infers`.
"""

from __future__ import annotations

import re
import shlex
import sys

from shapecalc.cli.answer import print_error, print_notes, run_for_each_line
from shapecalc.cli.options import (
    COMMAND_GROUPS,
    COMMAND_MODULES,
    DIALECT_FILTER,
    INPUT_ARGUMENT,
    Argument,
    Command,
    select_output_options,
)
from shapecalc.cli.output import (
    ExitCode,
    OutputOptions,
    print_json,
    print_json_if_requested,
    print_stderr,
    print_stdout,
    print_table,
    read_input,
)
from shapecalc.core.dialects import DIALECTS, find_dialect
from shapecalc.core.dialects.base import Dialect, element_size
from shapecalc.core.dims import factorization_text, product, to_json
from shapecalc.core.ops import FAMILIES, OPS, all_rules, operators_of, refusal_rules, step_rules
from shapecalc.core.ops.mean import MEAN
from shapecalc.core.problem import FILE, Problem, Rule, ShapeError, usage_error
from shapecalc.core.record import Choice, fields
from shapecalc.core.requests import lookup_dialect, make_request
from shapecalc.core.text import lookup, parse_target, shape_text
from shapecalc.reading.commands import COMPOSITE_OPS, OP_ALIASES, resolve_aliases
from shapecalc.reading.options import RULE_OPTIONS, Option, OptionKind, strip_leading_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.reasoning.number_mismatch import MismatchContext

DIALECTS_LEGEND = """\

  *           the default; a switch without a default must be given
  0           copies the dim at the same index, or is a dim of size zero
  infers      the negative values that mark a dim to infer
  0 and -1    whether a 0 of size zero and -1 may be used together
  -1 of none  the value of -1 if a known dim is 0: refused; or the quotient of the
              products without the zeros (no zeros) or without the copied dims
              (no copies); 0/0 is 1
"""


def run_dialects(name: str | None, output_options: OutputOptions) -> int:
    """Print the tables of dialects, operators and operator versions.

    If `name` is not None, only the rows of this dialect are printed.
    """
    try:
        rows = [*DIALECTS.values()] if name is None else [lookup_dialect(name)]
    except ShapeError as error:
        return print_error(error, "dialects", {"name": name}, output_options)
    if print_json_if_requested(output_options, lambda: [dialect_as_json(row) for row in rows]):
        from shapecalc.render.report import dialects_table, operators_table, versions_table

        print_table(dialects_table(rows))
        print_stdout(DIALECTS_LEGEND)
        print_table(operators_table(rows))
        if DIALECTS["onnx"] in rows:
            print_stdout("")
            print_table(versions_table())
    return ExitCode.OK


DIALECT_KEYS = (
    *("follows", "newest_opset", "max_rank", "max_inferred"),
    *("no_perm", "empty_perm_reverses", "negative_perm"),
    *("not_one", "squeeze_repeats", "unsqueeze_repeats", "inserts_one", "no_axes_is_all"),
    *("negative_axes_since", "scalar_axis", "flattens", "flattens_from", "broadcast", "equal_ranks", "tile_repeats"),
    *("slices_shape", "out_of_range_index_rule", "takes_from_the_end", "takes_scalars", "skips_indices"),
    *("skips_indices_if_empty", "rolls"),
    *("outside", "slices_backwards", "refuses_empty_slices"),
    *("left_over", "splits_by_size", "splits_unevenly", "infers_part"),
    "note",
)
"""The last keys of a dialect's JSON object.

They are fields of `Dialect`, or fields of the dialect's rows in the semantics tables of the ops.
"""


def dialect_as_json(dialect: Dialect) -> dict[str, object]:
    """Return the JSON object of a dialect in `shapecalc dialects --json`.

    >>> dialect_as_json(DIALECTS["tensorrt"])["operators"]["broadcast"]
    'ElementWise'
    """
    values = fields(dialect)
    for table in [table for op in OPS.values() for table in op.semantics]:
        values |= fields(table.for_dialect(dialect))
    texts = {name: value.value if isinstance(value, Choice) else value for name, value in values.items()}
    result: dict[str, object] = {
        "name": dialect.name,
        "source": dialect.source,
        "operators": {op: operator.name for op, operator in operators_of(dialect).items()},
        "rules": [dialect.reshape_semantics_as_json(on) for on in dialect.switch_settings()],
        "switch": None if dialect.switch is None else fields(dialect.switch),
    }
    return result | {name: texts[name] for name in DIALECT_KEYS if not isinstance(texts[name], Dialect)}


DIALECTS_COMMAND = Command(
    run=run_dialects,
    parameters=[
        Argument("name", "print only this dialect", "[DIALECT]", required=False, completions=lambda: DIALECTS),
        *select_output_options("json"),
    ],
    summary="Print the dialects with their rules for 0 and -1, limits and sources.",
    examples="""\
  shapecalc dialects
  shapecalc dialects tensorrt
  shapecalc dialects --json""",
)


MAX_TOPIC_LENGTH = 80
"""Maximum length, in characters, of a word that is searched in the manual and in the rules."""
RULE_ARGUMENT = Argument(
    "rule",
    "the id of a rule or of a cause reported by doctor, or a word to search for",
    "[RULE]",
    required=False,
    completions=all_rules,
)


def run_why(rule: str | None, output_options: OutputOptions) -> int:
    """Print the explanation of a rule, or a list of the rules that contain a word.

    `rule` is the id or the word; None lists all rules.
    """
    matches = [*all_rules().values()] if rule is None else find_rules(rule)
    try:
        entries = matches or [lookup(str(rule), all_rules() | doctor_causes(), "rule", list_command="shapecalc why")]
    except ShapeError as error:
        return print_error(error, "why", {"rule": rule}, output_options)
    if len(entries) == 1:
        print_json(entries[0].as_json()) if output_options.json else print_stdout(format_rule(entries[0]))
    elif output_options.json:
        print_json([entry.as_json() for entry in entries])
    elif rule is not None:
        _print_rules(entries)
    else:
        for title, rules in (
            ("rules that determine a dim", step_rules()),
            ("rules that refuse a request", refusal_rules()),
        ):
            print_stdout(f"{title}:")
            _print_rules([*rules.values()])
    return ExitCode.OK


def doctor_causes() -> dict[str, Rule]:
    """Return the causes of errors that `shapecalc doctor` reports, as rules by id.

    >>> doctor_causes()["bad-axis"].sentence
    'an axis is named that the tensor does not have, or one is named twice'
    """
    from shapecalc.diagnosis.causes import CAUSES  # deferred: needed only by `why` and `help`

    explanation = (
        "A cause that shapecalc doctor finds in a runtime's error message, by its words and by the shapes in it."
    )
    default = (explanation, "shapecalc doctor --help")
    example = "shapecalc doctor"
    return {name: Rule(name, cause.summary, *(cause.explanation or default), example) for name, cause in CAUSES.items()}


def find_rules(word: str) -> list[Rule]:
    """Return the rule whose id is `word`, or else the rules that contain the word.

    Rules whose sentence begins with the word come first.

    >>> [str(rule) for rule in find_rules("-1")][:2], find_rules("nope")
    (['infer', 'infer-empty'], [])
    """
    rules = all_rules()
    if word in rules or not word.strip() or len(word) > MAX_TOPIC_LENGTH:
        return [rules[word]] if word in rules else []
    pattern = re.compile(rf"(?<![\w-]){re.escape(word.strip())}(?!\w)", re.IGNORECASE)
    texts = {
        rule: f"{rule.sentence}\n{rule} {rule.replace('-', ' ')}\n{rule.explanation}\n{rule.source}"
        for rule in rules.values()
    }
    offsets = {rule: match.start() for rule, text in texts.items() if (match := pattern.search(text))}
    return sorted(offsets, key=lambda rule: offsets[rule] > 0)


def format_rule(rule: Rule) -> str:
    """Format a rule with its explanation, its source and an example.

    >>> print(format_rule(all_rules()["two-infers"]))
    two-infers: the requested shape contains more than one dim to infer
    <BLANKLINE>
      With two unknown dims, the answer is not unique.
    <BLANKLINE>
      source  ONNX Reshape: 'at most one dimension of the new shape can be -1'
      try     shapecalc reshape 2,3,4 -1,-1
    """
    from textwrap import fill

    parts = rule.explanation.split("\n\n")
    text = "\n\n".join(fill(part, 78, initial_indent="  ", subsequent_indent="  ") for part in parts)
    return f"{rule}: {rule.sentence}\n\n{text}\n\n  source  {rule.source}\n  try     {rule.example}"


def _print_rules(rules: Sequence[Rule]) -> None:
    """Print the id and the sentence of each rule."""
    width = max(map(len, all_rules()))
    for rule in rules:
        print_stdout(f"  {rule.ljust(width)}  {rule.sentence}")


WHY_COMMAND = Command(
    run=run_why,
    parameters=[RULE_ARGUMENT, *select_output_options("json")],
    summary="Explain a rule with an example, or list the rules that contain a word.",
    details=" Without an argument, all rules are listed.",
    examples="""\
  shapecalc why indivisible
  shapecalc why copy-zero
  shapecalc why allowzero
  shapecalc why""",
)


FIGURES_ARGUMENT = Argument(
    "figures",
    "two mismatching sizes, an element count and the requested shape, or the id of a rule",
    "FIGURE...",
    repeated=True,
    completions=all_rules,
    completes_only_first_word=True,
)
FIGURE = re.compile(r"\d{1,18}", re.ASCII)
FIGURES_HINT = "write two sizes, as 256 729, or an element count and the requested shape, as 67800 8,1,112,74"


def run_explain(figures: Sequence[str], output_options: OutputOptions) -> int:
    """Print possible explanations of two mismatched sizes, one per line.

    `figures` are two sizes, or an element count and the requested shape. If `figures` is a single word, the word is the
    id of a rule, and the rule is printed as by `why`. Return 1 if no explanation is better than chance.
    """
    if len(figures) == 1 and not FIGURE.fullmatch(figures[0].strip()):
        return run_why(figures[0], output_options)
    from shapecalc.reasoning import number_mismatch  # deferred: needed only by `explain`

    try:
        sizes, context = _parse_mismatched_sizes(figures)
    except ShapeError as error:
        return print_error(error, "explain", {"figures": [*figures]}, output_options)
    explanations = number_mismatch.explain_number_mismatch(sizes, context)
    values = [*sizes, *([[*context.target]] if context.target else [])]
    result = {"figures": values, "explanations": [explanation.as_json() for explanation in explanations]}
    if print_json_if_requested(output_options, lambda: result):
        for found in explanations:
            print_stdout(f"{found.arithmetic}  [{found.kind}]  {found.text}")
        for found in explanations:
            print_stderr(f"shapecalc: {found.kind}: {found.advice}")
        if not explanations:
            print_stderr("shapecalc: nothing that these numbers have in common is better than chance")
    return ExitCode.OK if explanations else ExitCode.FAILED


def _parse_mismatched_sizes(figures: Sequence[str]) -> tuple[tuple[int, ...], MismatchContext]:
    """Parse the arguments of `explain_number_mismatch`: two sizes, or a size and a shape.

    Raises `ShapeError` (usage) for other arguments.
    """
    from shapecalc.reasoning.number_mismatch import MismatchContext

    words = [word.strip() for word in figures]
    sizes = tuple([int(word) for word in words if FIGURE.fullmatch(word)])
    if len(words) != 2 or not sizes or not FIGURE.fullmatch(words[0]):
        raise usage_error("explain compares two sizes", FIGURES_HINT)
    if len(sizes) == 2:
        return sizes, MismatchContext()
    target = parse_target(words[1])
    dims = tuple([dim for dim in target if isinstance(dim, int)])
    if len(dims) != len(target) or len(dims) < 2 or min(dims) < -1 or 0 in dims:
        raise usage_error("the requested shape needs at least two dims, each a number or -1", FIGURES_HINT)
    return sizes, MismatchContext(target=dims)


EXPLAIN_COMMAND = Command(
    run=run_explain,
    parameters=[FIGURES_ARGUMENT, *select_output_options("json", "quiet")],
    summary="Suggest possible origins of two mismatching sizes, such as 256 and 729.",
    examples="""\
  shapecalc explain 256 729
  shapecalc explain 67800 8,1,112,74
  shapecalc explain 36992 10368 --json
  shapecalc explain two-infers""",
    details=""" The arithmetic is exact, but the explanations are guesses. The exit code is 1 if there is no
explanation.""",
)


def run_backends(output_options: OutputOptions) -> int:
    """Print one line per backend and device."""
    from shapecalc.engine.execute import describe_backends

    rows = describe_backends()
    for row in rows if print_json_if_requested(output_options, lambda: rows) else ():
        memory = "" if row["memory"] is None else f", {int(str(row['memory'])) / 2**30:.1f} GiB"
        status = row["problem"] or f"{row['version']} on {row['device']}{memory}"
        print_stdout(f"{row['name']}: {status}")
    return ExitCode.OK


BACKENDS_COMMAND = Command(
    run=run_backends,
    parameters=select_output_options("json"),
    summary="List the backends with their versions, devices and memory.",
    examples="""\
  shapecalc backends
  shapecalc backends --json""",
)


DEFAULT_DTYPES = ("float32", "float16", "int8")
"""Element types for which the size in bytes is printed without `--dtype`."""


def run_size(input: str, dtype: str | None, where: str | None, output_options: OutputOptions) -> int:
    """Print the element count and the size in bytes of a shape.

    If `input` is `-`, each line of standard input is a shape. Return the largest exit code.
    """
    if input.strip() != "-":
        return _print_size(input, dtype, where, output_options)

    def print_line_size(line: str, line_options: OutputOptions) -> int:
        """Print the size of the shape in a line, and return the exit code."""
        return _print_size(line, dtype, where, line_options)

    return run_for_each_line(print_line_size, "size", {"input": input}, output_options)


def _print_size(text: str, dtype: str | None, where: str | None, output_options: OutputOptions) -> int:
    """Print the element count of a shape, its prime factors and its size in bytes.

    Commands to continue with are suggested. Return the exit code.
    """
    try:
        parsed = read_input(strip_leading_space(text), {"dtype": dtype}, "flatten")
        request = make_request("flatten", parsed.shape, {**parsed.options, "where": where})
    except ShapeError as error:
        return print_error(error, "size", {"input": text}, output_options)
    print_notes(request.notes, output_options)
    count = product(request.input)
    types = (request.dtype,) if request.dtype else DEFAULT_DTYPES
    sizes = {dtype: product((count, element_size(dtype))) for dtype in types}
    json_sizes = {dtype: to_json(size) for dtype, size in sizes.items()}
    if print_json_if_requested(
        output_options, lambda: {"input": to_json(request.input), "elements": to_json(count), "bytes": json_sizes}
    ):
        print_stdout(str(count))
        factors = f"{factorization_text(count)} elements; " if isinstance(count, int) else ""
        print_stderr(f"shapecalc: {factors}{', '.join(f'{size} bytes of {dtype}' for dtype, size in sizes.items())}")
        if len(request.input) == 1 and isinstance(count, int):
            from shapecalc.reasoning.number_mismatch import (
                describe_count,  # deferred: needed only for a shape of one dim
            )

            for line in describe_count(count):
                print_stderr(f"shapecalc: {line}")
        shape = shape_text(request.input)
        commands = ([shape, "0,-1"], ["code", "x.flatten()", "--input", f"x={shape}"])
        print_stderr(f"shapecalc: next: {', '.join(shlex.join(['shapecalc', *command]) for command in commands)}")
    return ExitCode.OK


SIZE_COMMAND = Command(
    run=run_size,
    parameters=[INPUT_ARGUMENT, RULE_OPTIONS["dtype"], RULE_OPTIONS["where"], *select_output_options("json", "quiet")],
    summary="Print the element count of a shape, its factors and its size in bytes.",
    examples="""\
  shapecalc size 2,3,4
  shapecalc size N,C,H,W --where N=8
  shapecalc size x.npy --json""",
)


def run_vectors(dialect: list[str] | None, output_options: OutputOptions) -> int:
    """Print the test cases of the selected dialects as JSON Lines.

    `dialect` lists the selected dialects; None selects all.
    """
    try:
        names = [lookup_dialect(name).name for name in dict.fromkeys(dialect or [])]
    except ShapeError as error:
        return print_error(error, "vectors", {}, output_options)
    from shapecalc.checking.vectors import iter_golden_cases

    for case in iter_golden_cases(names):
        print_json(case)
    return ExitCode.OK


VECTORS_COMMAND = Command(
    run=run_vectors,
    parameters=[DIALECT_FILTER],
    summary="Write test cases with answers for every dialect, as JSON Lines for check.",
    examples="""\
  shapecalc vectors > vectors.jsonl
  shapecalc vectors --dialect tensorrt --dialect onednn
  shapecalc vectors | shapecalc check -""",
    details=""" Each case has an id, the source of its rules, and the expected answer.""",
)


OVERVIEW_PAGE = "shapecalc"
MANUAL_PAGES = {
    **dict.fromkeys(("shapecalc", "check", "doctor", "model", "tui"), 1),
    **dict.fromkeys(("cases", "lessons"), 5),
    **dict.fromkeys(("dialects", "limits", "operands", "spellings", "tutorial"), 7),
}
"""The manual section of each page, by topic: 1 commands, 5 file formats, 7 miscellanea."""
SHARED_PAGES = {"match": "check", "vectors": "check", "drill": "tui", "film": "tui", "serve": "tui"}
"""The manual page of each command that has no separate page, by command name.

All other commands are described on the overview page.
"""
COMMON_SECTION_TITLES = ("synopsis", "description", "examples", "see also", "files")
"""Titles of sections that most manual pages have; `help topics` omits them."""
WHOLE_PAGE_NOTE = ".Sh SEE ALSO\nThe whole page, with the options:\n.Dl shapecalc help \\-\\-page\n"


def topic_page_text(topic: str) -> str:
    """Return the manual page of a topic, or a command's entry on the overview page.

    Raises `ShapeError` (file) if the package was installed without the manual.
    """
    topic = SHARED_PAGES.get(topic, topic)
    from shapecalc.render.mdoc import format_page

    return format_page(
        read_page_source(topic) if topic in MANUAL_PAGES else _overview_entry(topic, read_page_source(OVERVIEW_PAGE))
    )


def _overview_entry(command: str, source: str) -> str:
    """Build the mdoc source of a short page about a command.

    The synopsis and the description are taken from `source`, the mdoc source of the overview page.
    """
    name, synopsis = source.partition("\n.Sh DESCRIPTION\n")[0].split("\n.Sh SYNOPSIS\n")
    usage = next(text for text in synopsis.split(".Nm\n") if text.startswith(f".Cm {command}\n"))
    entry, depth = [f".It Ic {command}"], 0
    for line in source.partition(f"\n{entry[0]}\n")[2].splitlines():
        if not depth and line.startswith((".It", ".El")):
            break
        depth += line.startswith(".Bl") - line.startswith(".El")
        entry.append(line)
    commands = [".Sh COMMANDS", ".Bl -tag -width unsqueeze", *entry, ".El"]
    return "\n".join([name, ".Sh SYNOPSIS", ".Nm", usage.rstrip(), *commands, WHOLE_PAGE_NOTE])


def read_page_source(topic: str) -> str:
    """Read the mdoc source of a manual page from the package or the source checkout.

    Raises `ShapeError` (file) if the page is not installed.
    """
    from importlib.resources import files  # deferred: it costs 4 ms of the 40 ms of `shapecalc -h`, which reads no page

    package = files("shapecalc")
    for folder in (package / "man", package / ".." / "man"):
        page = folder / page_file_name(topic)
        if page.is_file():
            return page.read_text("utf-8")
    raise ShapeError(Problem(FILE, f"{page_file_name(topic)} is not installed with this copy of shapecalc"))


def page_file_name(topic: str) -> str:
    """Return the file name of a manual page.

    >>> page_file_name("shapecalc"), page_file_name("cases")
    ('shapecalc.1', 'shapecalc-cases.5')
    """
    return f"{topic if topic == OVERVIEW_PAGE else f'{OVERVIEW_PAGE}-{topic}'}.{MANUAL_PAGES[topic]}"


FIRST_SCREEN = """\
shapecalc computes tensor shapes under the rules of a framework, and explains
every step. Give it one of these:

  shapecalc 2,3,4 0,-1                                two shapes
  shapecalc '2,3,4 | transpose 1,0,2 | reshape 6,4'   a chain of ops
  shapecalc 'x.view(2, -1)' x=2,3,4                   a line of code
  shapecalc yolo.onnx                                 a model, an array, a log
  shapecalc < error.txt                               an error message

Three commands to know:

  shapecalc doctor    explain an error message, and suggest a fix
  shapecalc model     find and fix nodes that break at another batch size
  shapecalc tui       show every step as a picture, with a ten-minute course
"""
FIRST_SCREEN_FOOTER = """\
shapecalc -h lists all commands; shapecalc help tutorial is an introduction.
On Windows, shapes need double quotes: shapecalc "2,3,4" "0,-1"."""


def program_help() -> str:
    """Return the help of the program: the first screen, then the commands by group."""
    width = max(map(len, (*COMMAND_GROUPS, *FAMILIES)))
    groups = [f"  {title.ljust(width)}  {' '.join(names)}" for title, names in COMMAND_GROUPS.items()]
    families = [f"  {title.ljust(width)}  {' '.join(names)}" for title, names in FAMILIES.items()]
    commands = "\n".join(["Commands:", *groups, "Ops:", *families])
    more = "shapecalc COMMAND -h explains a command; shapecalc help topics lists the manual.\n"
    more += "-V prints the version; --install-completion installs shell completion."
    return f"Usage: shapecalc WHAT... | COMMAND [OPTIONS] ARGS...\n\n{FIRST_SCREEN}\n{commands}\n\n{more}"


CI_SECTION = "continuous integration"
TOPIC_ALIASES = {
    **dict.fromkeys(("doc", "docs", "documentation", "guide", "man", "manual", "readme"), OVERVIEW_PAGE),
    **dict.fromkeys(("example", "intro", "start"), "tutorial"),
    **dict.fromkeys(("debug", "error", "errors", "exception", "message", "traceback"), "doctor"),
    **dict.fromkeys(("command", "commands", "list", "ops"), "operations"),
    **dict.fromkeys(("dialect", "framework", "frameworks"), "dialects"),
    **dict.fromkeys(("course", "learn", "lesson", "teach"), "lessons"),
    **dict.fromkeys(("drills", "exercise", "exercises", "practice", "quiz"), "drill"),
    "rule": "rules",
    **dict.fromkeys(("app", "gui", "path", "pictures", "puzzles", "slides", "ui", "worksheets"), "tui"),
    **dict.fromkeys(("batch", "fix", "mend"), "model"),
    **dict.fromkeys(("ci", "actions", "github", "hook", "junit", "pre-commit", "workflow"), CI_SECTION),
    **dict.fromkeys(("api", "import", "pytest", "test", "tests"), "python"),
    **dict.fromkeys(("exit", "codes"), "exit status"),
    **dict.fromkeys(("array", "arrays", "folder", "npy"), "match"),
    **dict.fromkeys(("pipe", "stdin"), "inputs"),
    **dict.fromkeys(("what", "reading"), "readings"),
    "option": "options",
}
"""The topic of the manual to which each synonym refers."""


COMMANDS_BY_QUESTION_WORD = {
    "-1": "why infer",
    "0": "why copy-zero",
    **dict.fromkeys(("contiguous", "stride", "strides"), "why stride-incompatible"),
    "broadcasting": "why broadcast",
    **dict.fromkeys(("nchw", "nhwc", "channels"), "help tutorial"),
}
"""The command that answers a question, by a word that the question contains."""
REARRANGING_OPS = frozenset((*FAMILIES["split and merge axes"], *FAMILIES["permute axes"]))
"""The ops that can differ in the order of the elements.

A question about two of them is answered by comparing both.
"""
UNINFORMATIVE_WORDS = frozenset(["what", "list", MEAN.name])
"""Words that name an op or a topic, but in a question usually mean something else."""
MAX_QUESTION_HINTS = 3
"""The maximum number of commands in the hint for a question."""


def question_error(words: Sequence[str]) -> ShapeError:
    """Return the error for a question in English, with the commands that answer it.

    >>> str(question_error(["what does -1 mean in reshape?"]).problem).partition("(")[2]
    'try shapecalc why infer; shapecalc help reshape)'
    """
    from shapecalc.reading.command_detection import command_hint

    tokens = [token.strip("?!.,'\"`").lower() for word in words for token in word.split()]
    found: dict[str, None] = {}
    ops: dict[str, None] = {}
    for token in tokens:
        if token in UNINFORMATIVE_WORDS:
            continue
        op = token if token in OPS else resolve_aliases([token])[0] if token.isidentifier() else ""
        if token in COMMANDS_BY_QUESTION_WORD:
            found[COMMANDS_BY_QUESTION_WORD[token]] = None
        elif op in OPS:
            ops[op] = None
        elif token in all_rules():
            found[f"why {token}"] = None
        elif find_dialect(token) is not None or (len(token) > 3 and token in TOPIC_ALIASES):
            found[f"help {TOPIC_ALIASES.get(token, token)}"] = None
    if len(REARRANGING_OPS & ops.keys()) > 1:
        found = {"against 'reshape 3,2' 'transpose 1,0' --input 2,3": None, **found}
    found |= {f"help {op}": None for op in ops}
    commands = [*found][:MAX_QUESTION_HINTS] or ["help topics", "tui --lesson"]
    hint = command_hint(words) or f"try {'; '.join(f'shapecalc {command}' for command in commands)}"
    return usage_error("questions in words are not read", hint)


def topic_hint(word: str) -> str:
    """Return a hint to the manual topic that has the name of an unknown command.

    Return an empty string if no topic has this name.

    >>> topic_hint("tutorial"), topic_hint("infer"), topic_hint("reshpe")
    ('shapecalc help tutorial tells of it', 'shapecalc help infer tells of it', '')
    """
    topic = word.lower().removeprefix(f"{OVERVIEW_PAGE}-")
    return f"shapecalc help {topic} tells of it" if topic in TOPIC_ALIASES or topic_text(topic) else ""


def topic_text(word: str) -> str:
    """Return the help on a manual page, a rule, a dialect, a section or an option.

    Return an empty string for an unknown word.

    >>> topic_text("two-infers").splitlines()[0], topic_text("ORT").splitlines()[0], topic_text("nope")
    ('two-infers: the requested shape contains more than one dim to infer', 'onnxruntime', '')
    """
    if len(word) > MAX_TOPIC_LENGTH:
        return ""
    if word in MANUAL_PAGES:
        return topic_page_text(word)
    rules = all_rules() | doctor_causes()
    if word in rules:
        return format_rule(rules[word])
    dialect = find_dialect(word)
    title = word if dialect is None else dialect.name
    from shapecalc.render.mdoc import format_page

    sections = {page: section for page in MANUAL_PAGES if (section := _page_sections(page).get(title))}
    heads = {page: f"({page_file_name(page)})\n" if len(sections) > 1 else "" for page in sections}
    return "\n\n".join([f"{heads[page]}{format_page(text)}" for page, text in sections.items()]) or _option_entry(word)


def _option_entry(word: str) -> str:
    """Return the description of an option on the overview page, or an empty string."""
    from shapecalc.render.mdoc import format_page

    name = re.escape(word.strip("-").replace("_", "-"))
    entry = re.search(
        rf"^\.It Fl [^\n]*?-{name}(?![\w-])[^\n]*\n(?:(?!\.It |\.El|\.S[hs] ).*\n)*",
        read_page_source(OVERVIEW_PAGE),
        re.M,
    )
    return format_page(f".Sh OPTIONS\n.Bl -tag -width Ds\n{entry[0]}.El") if entry else ""


def _page_sections(page: str) -> dict[str, str]:
    """Return the mdoc source of each section of a page, by lower-case title.

    Subsections are part of their section, and are also returned separately.
    """
    sections: dict[str, str] = {}
    name = page_file_name(page).partition(".")[0]
    source = read_page_source(page).replace("\n.Nm\n", f"\n.Nm {name}\n")
    for part in source.split("\n.Sh ")[2:]:
        title, _, text = part.partition("\n")
        sections[title.lower()] = f".Sh {title}\n{text}"
        for subsection in f"\n{text}".split("\n.Ss ")[1:]:
            sections[subsection.partition("\n")[0].lower()] = f".Sh {subsection}"
    return sections


def format_topics() -> str:
    """Format the list of manual pages and the titles of their sections."""
    from textwrap import fill

    from shapecalc.render.mdoc import remove_escapes

    titles = {
        page: [remove_escapes(title) for title in _page_sections(page) if title not in COMMON_SECTION_TITLES]
        for page in MANUAL_PAGES
    }
    width = max(map(len, MANUAL_PAGES))
    lines = [
        fill(", ".join(names), 78, initial_indent=f"  {page.ljust(width)}  ", subsequent_indent=" " * (width + 4))
        for page, names in titles.items()
    ]
    return "\n".join(["shapecalc help TOPIC prints one; the pages and their sections:", *lines])


TOPIC_ARGUMENT = Argument(
    "command",
    "a command, a page, a rule, a dialect, or another topic",
    "[TOPIC]",
    required=False,
    repeated=True,
    completions=lambda: dict.fromkeys(
        [*OPS, *OP_ALIASES, *COMPOSITE_OPS, *COMMAND_MODULES, *MANUAL_PAGES, *TOPIC_ALIASES, "topics"]
    ),
)
PAGE_OPTION = Option("page", "Print the manual page, even if a command has the same name.", OptionKind.FLAG)


ALL_OPTION = Option("whole", "Print all lines of the topic on a terminal.", OptionKind.FLAG, long="--all")
MAX_HELP_LINES = 24
"""The maximum number of lines that `help TOPIC` prints on a terminal."""


def run_help(command: list[str] | None, page: bool, whole: bool, output_options: OutputOptions) -> int:
    """Print the help of a command, a manual page, a section, or the list of commands.

    `command` are the words of the topic; with `page`, the topic is a manual page. On a terminal, the beginning of a
    topic is printed, unless `whole` or `page` is set.
    """
    topic = " ".join(command or ()).lower()
    word = resolve_aliases([topic.removeprefix(f"{OVERVIEW_PAGE}-")], translates_functions=False)[0]
    try:
        text = _topic_help(TOPIC_ALIASES.get(word, word), page=page or topic.startswith(f"{OVERVIEW_PAGE}-"))
        is_short = bool(topic) and not whole and not page and sys.stdout is not None and sys.stdout.isatty()
        print_stdout(shorten_help(text, topic)) if is_short else print_with_pager(text)
    except ShapeError as error:
        return print_error(error, "help", {"command": topic}, output_options)
    return ExitCode.OK


def shorten_help(text: str, topic: str) -> str:
    r"""Return the first lines of a help text, and the command that prints the rest.

    >>> shorten_help("line\n" * 30, "cases").splitlines()[-2:]
    ['', '8 more lines: shapecalc help cases --all']
    """
    lines = text.rstrip().splitlines()
    if len(lines) <= MAX_HELP_LINES:
        return text
    kept = "\n".join(lines[: MAX_HELP_LINES - 2]).rstrip()
    return f"{kept}\n\n{len(lines) - MAX_HELP_LINES + 2} more lines: shapecalc help {topic} --all"


def _topic_help(word: str, *, page: bool) -> str:
    """Return the help on a topic, or the program's help for an empty word.

    Raises `ShapeError` (usage) for an unknown topic, and `ShapeError` (file) if the pages are not installed.
    """
    known = dict.fromkeys([*OPS, *COMMAND_MODULES, *MANUAL_PAGES])
    if page:
        if word:
            lookup(word, known, "page")
        return topic_page_text(word or OVERVIEW_PAGE)
    if not word:
        return program_help()
    if word == "topics":
        return format_topics()
    if word in OPS or word in COMMAND_MODULES:
        from shapecalc.cli.help import help_text

        return help_text(word)
    text = topic_text(word)
    if not text and (op := resolve_aliases([word])[0]) in OPS:
        return _topic_help(op, page=False)
    if not text:
        lookup(
            word, dict.fromkeys([*known, *TOPIC_ALIASES, "topics"], ""), "topic", list_command="shapecalc help topics"
        )
    return text


def print_with_pager(text: str) -> None:
    """Print a long text, with a pager if stdin and stdout are terminals."""
    if sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from pydoc import pager

        pager(text)
    else:
        print_stdout(text)


HELP_COMMAND = Command(
    run=run_help,
    parameters=[TOPIC_ARGUMENT, PAGE_OPTION, ALL_OPTION],
    summary="Print the help of a command, a manual page, or a section of one.",
    examples="""\
  shapecalc help reshape
  shapecalc help tutorial
  shapecalc help ci
  shapecalc help model --page""",
    details=f""" The pages are {", ".join(MANUAL_PAGES)}.""",
)
