"""What the prompt remembers and answers: a current shape, the steps that led to it, and the way back."""

from __future__ import annotations

from difflib import get_close_matches

from shapecalc.cli.output import Exit
from shapecalc.core.catalogue import RULES
from shapecalc.core.conditions import Conditions
from shapecalc.core.dims import Shape
from shapecalc.core.operations import OPS
from shapecalc.core.problem import Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.request import ask, default_dialect, found, suggestion
from shapecalc.core.resolve import chain, resolve
from shapecalc.core.rules import DIALECTS
from shapecalc.core.text import read_shape, shape_text
from shapecalc.core.trace import Chain, Trace
from shapecalc.core.wording import visible
from shapecalc.core.words import Stage, command_pieces, read_chain, read_stage, read_values, split, texts_of, usage

COMMANDS = {
    "explain": "tell every step of the last answer",
    "undo": "go back one answer",
    "dialect NAME": "ask that framework from now on",
    "why RULE": "explain a rule",
    "ops": "list the operations",
    "help": "this list",
    "quit": "leave; so does ^D",
}
HELP = """\
  2,3,4               set the current shape; every answer becomes the next one, also called ans
  transpose 1,0,2     carry the current shape through an op; its options are the command's
  reshape ans 0,-1    the same, with the input named
  ans | flatten       several ops in a row
"""


class Reply(Record):
    """What the prompt answers: text for stdout, and a story or a problem for stderr."""

    answer: str = ""
    story: str = ""
    problem: Problem | None = None
    pieces: tuple[tuple[str | None, str], ...] = ()
    code: Exit = Exit.YES
    done: bool = False


class Session:
    """The state of a prompt; a line that fails leaves it as it was.

    >>> session = Session()
    >>> [session.reply(line).answer for line in ("2,3,4", "transpose 1,0,2", "reshape 0,-1", "undo")]
    ['2,3,4', '3,2,4', '3,8', '3,2,4']
    """

    def __init__(self) -> None:
        """Start without a shape, under each op's own default dialect."""
        self.dialect: str | None = None
        self._past: list[Shape] = []
        self._last: Trace | Chain | None = None

    @property
    def shape(self) -> Shape | None:
        """The current shape, if there is one."""
        return self._past[-1] if self._past else None

    def reply(self, line: str) -> Reply:
        """Return the reply to one line, whatever it holds."""
        try:
            words = split(line)
            return self._reply(line.strip(), words) if words else Reply()
        except ShapeError as error:
            return Reply(problem=error.problem, pieces=((None, visible(line.strip()[:200])),), code=Exit.USAGE)

    def _reply(self, line: str, words: list[str]) -> Reply:
        if words[0] in OPS and "|" not in line:
            return self._op(read_stage(words, with_input=_names_input(words, self.shape is not None)))
        if "|" in line:
            shape, stages = read_chain(f"ans | {line}" if words[0] in OPS else line)
            filled = [(op, {"dialect": self._dialect_of(op), **options}) for op, options in stages]
            return self._answered(chain(self._input(shape), filled, {}))
        command = getattr(self, f"_{words[0]}", None) if words[0] in {name.split()[0] for name in COMMANDS} else None
        if command is not None:
            reply: Reply = command(words[1:])
            return reply
        if words == ["?"]:
            return self._help(words)
        if words == ["ans"]:
            return Reply(self._input("ans"))
        if words[0] == "exit":
            return Reply(done=True)
        return self._set(line.strip(), words)

    def _op(self, stage: Stage) -> Reply:
        options = {"dialect": self._dialect_of(stage.op), **stage.options}
        return self._answered(resolve(ask(stage.op, self._input(stage.input or "ans"), options)))

    def _dialect_of(self, op: str) -> str:
        """Return the session's dialect where it has the op, the op's own default elsewhere."""
        chosen = self.dialect
        return chosen if chosen and op in DIALECTS[chosen].operators else default_dialect(op)

    def _input(self, text: str) -> str:
        if text != "ans":
            return text
        if self.shape is None:
            raise misuse("there is no current shape yet", "write one: 2,3,4")
        return shape_text(self.shape)

    def _answered(self, answer: Trace | Chain) -> Reply:
        stage = answer.stages[-1]
        if answer.output is None:
            pieces = tuple(command_pieces(stage.op, texts_of(stage.request)))
            return Reply(problem=answer.problem, pieces=pieces, code=Exit.UNRESOLVED)
        self._last = answer
        if stage.op != "shape":
            self._past.append(answer.output)
        return Reply(shape_text(answer.output), _conditions_text(answer.conditions))

    def _set(self, text: str, words: list[str]) -> Reply:
        known = [*OPS, *(name.split()[0] for name in COMMANDS)]
        if words[0].isidentifier() and (len(words) > 1 or get_close_matches(words[0], known, cutoff=0.75)):
            raise misuse(f"there is no operation '{words[0][:40]}'", suggestion(words[0], known))
        self._past.append(read_shape(text))
        return Reply(self._input("ans"))

    def _explain(self, words: list[str]) -> Reply:
        if self._last is None:
            raise misuse("there is no answer to explain yet", "carry a shape through an op first: reshape 0,-1")
        from shapecalc.view.steps import steps_text

        return Reply(str(steps_text(self._last)))

    def _undo(self, words: list[str]) -> Reply:
        if len(self._past) < 2:
            raise misuse("there is nothing to go back to")
        self._past.pop()
        return Reply(self._input("ans"))

    def _dialect(self, words: list[str]) -> Reply:
        if not words:
            return Reply("\n".join(f"{'*' if name == self.dialect else ' '} {name}" for name in DIALECTS))
        self.dialect = found(words[0], DIALECTS, "dialect").name
        return Reply(story=f"asking {self.dialect}")

    def _why(self, words: list[str]) -> Reply:
        from shapecalc.cli.why import explained

        if not words:
            return Reply("\n".join(f"{rule.id}: {rule.says}" for rule in RULES.values()))
        return Reply(explained(found(words[0], RULES, "rule")))

    def _ops(self, words: list[str]) -> Reply:
        lines = [f"  {usage(op, with_input=False).removeprefix('write ')}\n      {op.summary}" for op in OPS.values()]
        return Reply("\n".join(lines))

    def _help(self, words: list[str]) -> Reply:
        return Reply(HELP + "\n".join(f"  {name.ljust(18)}  {says}" for name, says in COMMANDS.items()))

    def _quit(self, words: list[str]) -> Reply:
        return Reply(done=True)


def _names_input(words: list[str], has_shape: bool) -> bool:
    """Say whether an op's line names its input: `ans`, or one value more than the op has places for."""
    values = read_values(words)
    places = sum(param.positional for param in OPS[words[0]].params)
    return values[:1] == ["ans"] or (len(values) == places + 1 and not (has_shape and places == 0))


def _conditions_text(conditions: Conditions) -> str:
    return "\n".join(f"holds when {condition.words}" for condition in conditions)
