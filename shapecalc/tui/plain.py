"""The app in plain lines of text, for screen readers and pipes.

Each line is a complete sentence, without drawings. The input is read line by line. An empty line requests the next
step, and the letters of `BACK`, `LEARN`, `FIX` and `QUIT` are commands. Any other line is a new question, or a
prediction while a dim must be predicted. At the end of the input, the remaining steps are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable, format_count, shape_text
from shapecalc.render.stage_layout import layout_index, stage_layouts
from shapecalc.teaching.progress import Score
from shapecalc.tui import explore_text
from shapecalc.tui.app_commands import parse_command_text
from shapecalc.tui.question import Question, QuestionResult, question_command
from shapecalc.tui.state import YES_NO_KEYS, ExploreState

BACK, LEARN, FIX, QUIT, HELP = "b", "l", "f", "q", "?"
"""The lines that go back a step, ask before anything is said, apply the fix, end, and give a hint."""
KEYS_TEXT = "Enter goes on, b goes back, l asks you first, q ends; or type another request."
VALIDITY_TEXT = "Type y or n; enter shows it, l stops asking, q ends."
ASKING_TEXT = "Type the answer; ? gives a hint, Enter shows it, l stops asking, q ends."
WELCOME_TEXT = "Type a request, such as 2,3,4 0,-1 or shuffle 2,3,4 --first 1,0,2 --to 0,-1."
RIGHT, WRONG = "Right.", "Not right."


class PlainSession:
    """A session that answers a question step by step in plain text.

    >>> from shapecalc.tui.question import question_from_words
    >>> session = PlainSession(question_from_words(["reshape", "2,3,4", "0,-1"]), 0)
    >>> for line in (*session.opening_lines(), *session.reply(""), *session.reply("")):
    ...     print(line)
    reshape 2,3,4 0,-1. 3 steps. Enter goes on, b goes back, l asks you first, q ends; or type another request.
    Step 1 of 3, reshape, dim 0: 0 copies dim 0, which is 2.
    Step 2 of 3, reshape, dim 1: -1 is 24 elements (2*3*4) / 2 known = 12.
    Step 3 of 3, reshape: 24 elements in and out: axis 0 stays; axes 1,2 merge into axis 1.
    Answer: 2,3,4 becomes 2,12.
    """

    def __init__(self, question: Question | None, step: int | None) -> None:
        """Start with a question at a step, or after the last step for None."""
        self._score = Score()
        self.state: ExploreState | None = None
        if question is not None:
            self._replace_question(question, step)

    def _replace_question(self, question: Question, step: int | None) -> None:
        """Replace the question, and go to a step, even of a refused request."""
        self.state = ExploreState(question, step, score=self._score)
        if step is not None:
            self.state.go_to_step(step)

    @property
    def is_done(self) -> bool:
        """Whether all lines are printed."""
        return self.state is None or self.state.current_step >= self.state.end_step

    @property
    def result(self) -> QuestionResult | None:
        """The result of the current question."""
        return self.state.result if self.state else None

    def opening_lines(self) -> list[str]:
        """Return the lines of a new question and its first step."""
        state = self.state
        if state is None:
            return [WELCOME_TEXT]
        if state.result.answer is None:
            return self._problem_lines()
        line = question_command(state.question, state.result.answer).removeprefix("shapecalc ")
        count = len(state.result.answer.steps)
        steps = format_count(count, "step", "steps")
        return [f"{escape_unprintable(line)}. {steps}. {KEYS_TEXT}", *self.position_lines()]

    def reply(self, line: str) -> list[str]:
        """Return the lines that reply to a line of the user."""
        typed, state = line.strip(), self.state
        if state is not None and state.result.answer is not None:
            if typed == LEARN:
                state.toggle_learning()
                return self.position_lines()
            if typed == FIX and state.is_available("fix"):
                self._replace_question(state.apply_fix(), 0)
                return self.opening_lines()
            if typed == BACK:
                state.advance(-1)
                return self.position_lines()
            if state.must_predict_validity or state.is_awaiting_input:
                return self._judge_answer(state, typed)
            if not typed:
                return self._go_to_next_step(state)
        return self._open_question(typed) if typed not in ("", HELP) else [KEYS_TEXT]

    def _open_question(self, text: str) -> list[str]:
        """Open another question; return its lines, or the error message."""
        try:
            question = parse_command_text(text).question
        except ShapeError as error:
            return [
                _format_as_sentence(error.problem.message),
                *([_format_as_sentence(error.problem.hint)] if error.problem.hint else []),
            ]
        if question is None:
            return ["Only requests, chains and comparisons are read here."]
        self._replace_question(question, 0)
        return self.opening_lines()

    def _go_to_next_step(self, state: ExploreState) -> list[str]:
        """Go to the next step, or repeat the answer after the last step."""
        if self.is_done:
            return self.answer_lines()
        state.advance(1)
        return self.position_lines()

    def _judge_answer(self, state: ExploreState, typed: str) -> list[str]:
        """Judge a prediction, and return the lines of the feedback.

        An empty prediction reveals the answer, and `?` requests a hint.
        """
        if state.must_predict_validity:
            expected = state.answer is not None and state.answer.problem is None
            guess = YES_NO_KEYS.get(typed[:1].lower()) if typed else None
            if typed and guess is None:
                return [VALIDITY_TEXT]
            state.predict_validity(guess)
            lines = [] if guess is None else [RIGHT if guess is expected else WRONG]
            return [*lines, *self.position_lines()]
        blank = state.current_blank
        assert blank is not None
        if not typed:
            state.advance(1)
            return self.position_lines()
        if typed != HELP:
            while state.predictions.texts.get(blank):
                state.type_char("\b")
            for char in typed:
                state.type_char(char)
            if state.predictions.is_right(blank):
                state.submit_prediction()
                return [RIGHT, *self.position_lines()]
        state.submit_prediction()
        hint = state.predictions.hint(blank)
        is_first = state.predictions.hint_count(blank) < len(hint.levels)
        return [*([WRONG] if typed != HELP else []), _format_as_sentence(hint.rule if is_first else hint.arithmetic)]

    def position_lines(self) -> list[str]:
        """Return the lines at the current position.

        They contain a step, a question about a step, or the answer.
        """
        state = self.state
        if state is None or state.answer is None:
            return []
        if state.must_predict_validity:
            return [f"{explore_text.WORKS_QUESTION} {VALIDITY_TEXT}"]
        if state.is_awaiting_input and state.current_blank is not None:
            return [f"{_format_as_sentence(state.predictions.hint(state.current_blank).question)} {ASKING_TEXT}"]
        if state.current_step >= state.end_step:
            return self.answer_lines()
        lines = [self._step_line(state)]
        return (
            [*lines, *self.answer_lines()] if state.current_step == state.end_step - 1 and not state.blanks else lines
        )

    def _step_line(self, state: ExploreState) -> str:
        """Return the sentence of the current step, with its number, stage and dim."""
        assert state.answer is not None
        step, layouts = state.answer.steps[state.current_step], stage_layouts(state.answer)
        name = layouts[layout_index(layouts, state.current_step)].name
        dim = "" if step.out is None else f", dim {step.out}"
        return f"Step {state.current_step + 1} of {state.end_step}, {name}{dim}: {_format_as_sentence(step.why)}"

    def answer_lines(self) -> list[str]:
        """Return the lines of the answer with its conditions, or of the refusal."""
        state = self.state
        if state is None or state.result.answer is None or state.result.answer.problem is not None:
            return self._problem_lines()
        answer = state.result.answer
        shapes = f"Answer: {shape_text(answer.input)} becomes {shape_text(answer.output or ())}."
        return [escape_unprintable(shapes), *explore_text.condition_sentences(answer)]

    def _problem_lines(self) -> list[str]:
        """Return the reason for a refusal, and its fix or hint."""
        problem = self.state.result.problem if self.state else None
        if problem is None or self.state is None:
            return []
        fix = f"Fix: {self.state.fix.description}. f applies it." if self.state.fix else ""
        lines = [
            f"Refused: {_format_as_sentence(problem.message)}",
            fix or (_format_as_sentence(problem.hint) if problem.hint else ""),
        ]
        return [*filter(None, lines)]

    def remaining_lines(self) -> Iterator[str]:
        """Yield the lines of all remaining steps, without questions."""
        while self.state is not None and self.state.result.answer is not None and not self.is_done:
            self.state.is_learning = False
            self.state.advance(1)
            if not self.is_done:
                yield from self.position_lines()


def _format_as_sentence(text: str) -> str:
    """Return a text as a single line that ends with a punctuation mark."""
    line = " ".join(escape_unprintable(text).split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def run_plain(session: PlainSession, lines: Iterable[str], write: Callable[[str], None]) -> QuestionResult | None:
    """Reply to each line of the user, and return the last result.

    At the end of the input, the remaining steps are printed.
    """
    for text in session.opening_lines():
        write(text)
    for line in lines:
        if line.strip() == QUIT:
            return session.result
        for text in session.reply(line):
            write(text)
    for text in session.remaining_lines():
        write(text)
    return session.result
