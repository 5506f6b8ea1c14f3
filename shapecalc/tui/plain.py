"""The app in plain lines of text, for screen readers and pipes.

Each line of the output is a complete sentence; there are no drawings. In the input, an empty line requests the next
step, and `BACK`, `LEARN`, `FIX` and `QUIT` are commands. A line that begins with `FOLLOW` follows an element. Any other
line is a prediction while a dim must be predicted, and otherwise a new question, code or an error message. At the end
of the input, the remaining steps are printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.text import escape_unprintable, format_count, shape_text
from shapecalc.diagnosis.report import diagnose
from shapecalc.render.grid import build_tensor_path
from shapecalc.render.stage_layout import layout_index, stage_layouts
from shapecalc.render.tape import element_equation
from shapecalc.teaching.progress import Score
from shapecalc.tui import explore_text
from shapecalc.tui.app_commands import CODE, MESSAGE, AppCommand, parse_command_text
from shapecalc.tui.chains import compare_chains, verdict_text
from shapecalc.tui.question import (
    CHAIN,
    Question,
    QuestionResult,
    chain_from_code,
    parse_followed_index,
    question_command,
    rules_text,
    suggested_question,
)
from shapecalc.tui.state import VALIDITY_KEYS, ExploreState

BACK, LEARN, FIX, QUIT, HELP = "b", "l", "f", "q", "?"
"""The commands for the previous step, learning mode, the fix, the end of the session, and a hint."""
FOLLOW = "at"
"""The word that begins a line with the index of an element to follow through all stages."""
HELP_LINES = (HELP, "help", "h")
KEYS_TEXT = (
    "Enter: next step; b: back; l: predict each step; at {index}: follow an element; q: quit; or type another request."
)
VALIDITY_TEXT = "Type y or n; enter shows it, l stops asking, q ends."
ASKING_TEXT = "Type the answer; ? gives a hint, Enter shows it, l stops asking, q ends."
WELCOME_TEXT = (
    "Type a request, such as 2,3,4 0,-1 or shuffle 2,3,4 --first 1,0,2 --to 0,-1, a line of code or an error message."
)
NO_QUESTION_TEXT = "Nothing is asked now. Enter goes on, and ? names the keys."
UNKNOWN_INPUT_TEXT = "The shape of the tensor is not known: type its shape first, such as 2,3,4, and then the code."
LAST_STEP_TEXT = "That was the last step."
LEARNING_TEXTS = {True: "It asks first now.", False: "It does not ask now."}
"""The reply after learning mode is turned on or off."""
RIGHT, WRONG = "Right.", "Not right."
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
DIAGNOSIS_LABEL = re.compile(r"^ +(what|why|do|else|fix) +(?=\S)")
"""The label of a line of a diagnosis, after its indentation."""
TRACEBACK = "Traceback"
"""The first word of a Python traceback, of which the last line names the error."""


class PlainSession:
    """A session that prints the answer to a question step by step as plain text.

    >>> from shapecalc.tui.question import question_from_words
    >>> session = PlainSession(question_from_words(["reshape", "2,3,4", "0,-1"]), 0)
    >>> for line in (*session.opening_lines(), *session.reply(""), *session.reply("")):
    ...     print(line)
    reshape 2,3,4 0,-1, by ONNX rules. 3 steps.
    Enter: next step; b: back; l: predict each step; at 0,0,0: follow an element; q: quit; or type another request.
    Step 1 of 3, reshape, dim 0: 0 copies dim 0, which is 2.
    Step 2 of 3, reshape, dim 1: -1 is 24 elements (2*3*4) / 2 known = 12.
    Step 3 of 3, reshape: 24 elements in and out: axis 0 stays; axes 1,2 merge into axis 1.
    Answer: 2,3,4 becomes 2,12.
    """

    def __init__(self, question: Question | None, step: int | None) -> None:
        """Open a question at a step; if `step` is None, after the last step."""
        self._score = Score()
        self._message_lines: list[str] = []
        """The lines of a traceback that is not complete yet."""
        self.state: ExploreState | None = None
        if question is not None:
            self._replace_question(question, step)

    def _replace_question(self, question: Question, step: int | None) -> None:
        """Replace the question, and go to a step, even if the request is refused."""
        self.state = ExploreState(question, step, score=self._score)
        if step is not None:
            self.state.go_to_step(step)

    @property
    def is_done(self) -> bool:
        """Whether all lines of the answer are printed."""
        return self.state is None or self.state.current_step >= self.state.end_step

    @property
    def result(self) -> QuestionResult | None:
        """The result of the current question."""
        return self.state.result if self.state else None

    def opening_lines(self) -> list[str]:
        """Return the lines that introduce a new question, and those of its first step."""
        state = self.state
        if state is None:
            return [WELCOME_TEXT]
        if state.result.answer is None:
            return self._problem_lines()
        line = question_command(state.question, state.result.answer).removeprefix("shapecalc ")
        count = len(state.result.answer.steps)
        steps = format_count(count, "step", "steps")
        rules = ", ".join(filter(None, (escape_unprintable(line), rules_text(state.question))))
        is_at_end = state.current_step >= state.end_step  # at this position, the lines repeat the refusal
        refusal = [] if state.result.problem is None or is_at_end else self._problem_lines()
        return [
            f"{rules}. {steps}.",
            *refusal,
            *self._comparison_lines(),
            self._keys_text(),
            *self.position_lines(),
        ]

    def _keys_text(self) -> str:
        """Describe the commands, with the index of the first element as an example."""
        answer = self.state.answer if self.state else None
        return KEYS_TEXT.format(index=shape_text((0,) * (2 if answer is None else len(answer.input))))

    def _comparison_lines(self) -> list[str]:
        """Return the verdict of the comparison with a second chain.

        Returns an empty list if there is no second chain.
        """
        state = self.state
        if state is None or state.answer is None or not state.question.second_chain:
            return []
        verdict = verdict_text(compare_chains(state.answer, state.question.second_chain)).plain
        second = escape_unprintable(state.question.second_chain.lstrip("| "))
        lines = [line.lstrip("✓≠? ") for line in verdict.splitlines()]
        return [f"Compared with {second}: {_format_as_sentence(lines[0])}", *map(_format_as_sentence, lines[1:])]

    def reply(self, line: str) -> list[str]:
        """Return the lines that reply to a line of input."""
        typed, state = line.strip(), self.state
        if state is not None and state.result.answer is not None:
            if typed == LEARN:
                self._toggle_learning(state)
                return [LEARNING_TEXTS[state.is_learning], *self.position_lines()]
            if typed.split()[:1] == [FOLLOW]:
                return self._follow_element(state, typed.removeprefix(FOLLOW).strip())
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
        if self._message_lines or typed.startswith(TRACEBACK):
            return self._read_message(line)
        return self._open_question(typed) if typed and typed not in HELP_LINES else [self._keys_text()]

    def _toggle_learning(self, state: ExploreState) -> None:
        """Turn learning mode on or off; steps that are already printed are not asked."""
        if state.is_learning or self.is_done:
            state.toggle_learning()
        else:
            state.start_learning_after(state.current_step)

    def _read_message(self, line: str) -> list[str]:
        """Collect the lines of a traceback, and diagnose it when it is complete.

        The first line that is not indented completes the traceback.
        """
        is_first = not self._message_lines
        self._message_lines.append(line)
        if is_first or not line.strip() or line[:1] == " ":
            return []
        text, self._message_lines = "\n".join(self._message_lines), []
        return self._open_question(text)

    def _follow_element(self, state: ExploreState, text: str) -> list[str]:
        """Describe the index of an input element after each stage."""
        try:
            index = parse_followed_index(state.question, text)
        except ShapeError as error:
            return _problem_sentences(error.problem)
        if state.is_answer_hidden:
            return ["This would show the answer. l stops asking."]
        assert state.answer is not None
        path = build_tensor_path(state.answer)
        indices, names = path.indices_of(index), _stage_names(state.answer)
        lines = [f"The element at {shape_text(index)} of the input {shape_text(path.tensors[0].shape)}."]
        for name, tensor, position in zip(names, path.tensors[1:], indices[1:], strict=False):
            where = "left out" if position is None else f"at {shape_text(position)} of {shape_text(tensor.shape)}"
            lines.append(f"After the {name} it is {where}.")
        return [*lines, f"In NumPy: {element_equation(path, index)}."]

    def _open_question(self, text: str) -> list[str]:
        """Open another question, and return its lines or the error message."""
        try:
            command = parse_command_text(text)
            question = command.question
            notes: list[str] = []
            if command.kind == MESSAGE:
                question, notes = _read_diagnosis(command.content)
            elif command.kind == CODE:
                question, notes = self._read_code(command)
        except ShapeError as error:
            return [NO_QUESTION_TEXT] if text.isdigit() else _problem_sentences(error.problem)
        if question is None:
            return notes
        self._replace_question(question, 0)
        return [*notes, *self.opening_lines()]

    def _read_code(self, command: AppCommand) -> tuple[Question | None, list[str]]:
        """Read a line of code as a chain, and describe the chain.

        The input shape of the chain is the one in the code, or else that of the current question. Returns None and an
        error message if the input is unknown. Raises `ShapeError` (usage) if the code is not recognized.
        """
        words = command.words
        shape = words[words.index("--input") + 1].rpartition("=")[2] if "--input" in words else ""
        known = shape or (self.state.question.texts.get("input", "") if self.state else "")
        question, notes = chain_from_code(command.content, Question(CHAIN, {"input": known or "1"}))
        if not known and question.texts["input"] == "1":
            return None, [UNKNOWN_INPUT_TEXT]
        return question, [_format_as_sentence(f"The code as a chain: {notes[0]}")]

    def _go_to_next_step(self, state: ExploreState) -> list[str]:
        """Go to the next step.

        An answer that the last step has printed is not repeated.
        """
        has_answer = self._is_answer_printed(state)
        state.advance(1)
        return [LAST_STEP_TEXT] if has_answer else self.position_lines()

    def _is_answer_printed(self, state: ExploreState) -> bool:
        """Return whether the lines of the current step already contain the answer."""
        return self.is_done or (state.current_step == state.end_step - 1 and not state.blanks)

    def _judge_answer(self, state: ExploreState, typed: str) -> list[str]:
        """Judge a prediction, and return the feedback as lines.

        An empty prediction reveals the answer, and `?` requests a hint.
        """
        if state.must_predict_validity:
            expected = state.answer is not None and state.answer.problem is None
            guess = VALIDITY_KEYS.get(typed[:1].lower()) if typed else None
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
        hint = state.predictions.dim_question(blank)
        is_first = state.predictions.hint_count(blank) < len(hint.levels)
        return [*([WRONG] if typed != HELP else []), _format_as_sentence(hint.rule if is_first else hint.arithmetic)]

    def position_lines(self) -> list[str]:
        """Return the lines at the current position.

        They contain the current step, a question about it, or the answer.
        """
        state = self.state
        if state is None or state.answer is None:
            return []
        if state.must_predict_validity:
            return [f"{explore_text.WORKS_QUESTION} {VALIDITY_TEXT}"]
        if state.is_awaiting_input and state.current_blank is not None:
            question = _format_as_sentence(state.predictions.dim_question(state.current_blank).question)
            return [f"{question[:1].upper()}{question[1:]} {ASKING_TEXT}"]
        if state.current_step >= state.end_step:
            return self.answer_lines()
        lines = [self._step_line(state), *self._stage_lines(state)]
        return [*lines, *self.answer_lines()] if self._is_answer_printed(state) else lines

    def _step_line(self, state: ExploreState) -> str:
        """Return the sentence of the current step, with its number, stage and dim."""
        assert state.answer is not None
        step, layouts = state.answer.steps[state.current_step], stage_layouts(state.answer)
        index = layout_index(layouts, state.current_step)
        sentence = _format_as_sentence(step.why)
        dim = "" if step.out is None or sentence.startswith(f"dim {step.out} ") else f", dim {step.out}"
        if index:  # the lines of the previous stage end with the input of this stage
            sentence = re.sub(r"\bis input dim (\d+)", r"is dim \1 of the previous shape", sentence)
        name = _stage_names(state.answer)[index]
        return f"Step {state.current_step + 1} of {state.end_step}, {name}{dim}: {sentence}"

    def _stage_lines(self, state: ExploreState) -> list[str]:
        """Return a line with the shape after a stage that is not the last one.

        Returns an empty list until the last step of the stage is printed.
        """
        assert state.answer is not None
        layouts = stage_layouts(state.answer)
        index = layout_index(layouts, state.current_step)
        stage, is_last_step = layouts[index].stage, state.current_step == layouts[index].step_range.stop - 1
        if index == len(layouts) - 1 or not is_last_step or stage.after is None or state.blanks:
            return []
        name = _stage_names(state.answer)[index]
        return [f"{name[0].upper()}{name[1:]} done: {escape_unprintable(shape_text(stage.after))}."]

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


def _stage_names(answer: Trace | Chain) -> list[str]:
    """Return the names of the stages; stages with the same name are numbered in words.

    >>> import shapecalc as sc
    >>> _stage_names(sc.shuffle((2, 3), first=(1, 0), to=(3, 2), second=(1, 0)))
    ['first transpose', 'reshape', 'second transpose']
    """
    names = [layout.name for layout in stage_layouts(answer)]
    result = list[str]()
    for index, name in enumerate(names):
        number = names[:index].count(name)
        ordinal = ORDINALS[number] if number < len(ORDINALS) else f"number {number + 1}"
        result.append(f"{ordinal} {name}" if names.count(name) > 1 else name)
    return result


def _read_diagnosis(message: str) -> tuple[Question | None, list[str]]:
    """Return the first request that a diagnosis suggests, and the diagnosis as lines."""
    report = diagnose(message)
    lines = [_format_as_sentence(DIAGNOSIS_LABEL.sub(r"\1: ", line)) for line in report.format_lines()]
    return suggested_question(report), lines


def _problem_sentences(problem: Problem) -> list[str]:
    """Return the message of a problem and its hint as sentences."""
    return [*map(_format_as_sentence, filter(None, (problem.message, problem.hint)))]


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
