"""The screens of lessons and exercises, on which the user predicts answers.

A task asks for a prediction or, in a puzzle, for a chain of ops. A learning path is a course whose lessons are taken in
order.
"""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import product
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable, parse_axes, shape_text, split_outside_brackets
from shapecalc.render.canvas import UNICODE, clip_line, stack_texts, wrap_line
from shapecalc.render.cut import CutState, cut_heading, draw_cut_tape
from shapecalc.render.grid import build_tensor_path, draw_grid
from shapecalc.render.pictures import draw_explanation
from shapecalc.render.styles import ERROR_COLOUR, SUCCESS_COLOUR
from shapecalc.render.tape import MAX_TAPE_ELEMENTS, tape_lines
from shapecalc.teaching import ALL, BUILD, TOPICS, judging
from shapecalc.teaching.exercises import KINDS, Drill, judge_answer, question_topic, random_seed
from shapecalc.teaching.judging import Prediction, Task, resolve_command_line
from shapecalc.teaching.lessons import PATH_DONE_ID, Course, Lesson, judge_lesson_answer, load_lessons
from shapecalc.teaching.progress import Progress
from shapecalc.tui.panels import BORDER_LINES
from shapecalc.tui.question import Question, question_from_words
from shapecalc.tui.side import sign_lines
from shapecalc.tui.state import first_varying_axis
from shapecalc.tui.widgets import (
    AnswerField,
    ChoiceList,
    ClickableText,
    Dialog,
    Key,
    Pane,
    format_key_line,
    make_bindings,
)

MIN_PICTURE_WIDTH = 20
"""The minimum width of a drawing, in cells."""
GRID_HEIGHT = 12
"""The height of each drawing of elements below a revealed answer, in lines."""
MIN_TASK_HEIGHT = 18
"""The minimum height, in lines, for which a task is drawn unless the terminal is short."""
MIN_RULES_WIDTH = 60
"""The minimum terminal width, in cells, at which a prompt names the framework whose rules apply."""
OR_ERROR = ", or error:"
"""The end of a prompt whose answer can be an error instead of a shape."""
MIN_TEXT_HEIGHT = 30
"""The terminal height, in lines, below which the text of a lesson is hidden."""
MIN_BORDER_HEIGHT = 16
"""The terminal height, in lines, below which the border is hidden."""
KEYS = (
    Key("enter", "enter", "check", "submit", "check what is typed, give a hint, or go on once it is answered", 0),
    Key("enter", "enter", "go on", "submit()", "", 0),
    Key("f1", "F1", "help", "app.help", "explain this", 1),
    Key("ctrl+g", "^G", "answer", "answer", "show the answer", 2),
    Key("escape", "esc", "leave", "back", "go back", 3),
    Key("f5", "F5", "steps", "play", "leave the lessons, and show this question step by step", 5),
    Key("ctrl+s", "^S", "text", "app.save_screen('text')", "copy the screen as text, and save it", 8),
    Key("up", "↑↓", "scroll", "scroll(-1)", "scroll up or down", 9),
    Key("down", "↑↓", "scroll", "scroll(1)", "", 10),
)
"""The keys of all screens with a task."""
LIST_KEYS = (
    Key("", "enter", "open", "open", "", 0),
    Key("", "↑↓", "entry", "scroll(1)", "", 1),
    Key("", "End", "exercises", "edge(1)", "", 2),
    Key("", "esc", "leave", "back", "", 3),
    Key("", "F1", "help", "app.help", "", 4),
    Key("", "^S", "text", "app.save_screen('text')", "", 8),
)
"""The keys while the list is visible."""
CUT_KEYS = (
    Key("", "←→", "cut", "", "move the cuts of the tape", -2),
    Key("", "0", "keep", "", "keep the cuts, and cut each piece again", -1),
    Key("", "backspace", "undo", "", "remove the cuts that were kept last", -1),
)
"""The keys while the user cuts a tape of elements."""
EXERCISES_TEXT = (
    "Questions that get harder. A missed one comes back soon, a known one later each time. Showing the "
    "answer counts as a miss; a hint does not count."
)
MIN_LIST_WIDTH = 76
"""The minimum terminal width, in cells, at which the list is beside the lesson."""
PICTURE_TITLE, ANSWER_TITLE, EXERCISES_TITLE = "Picture", "Your answer", "Exercises"
"""The titles of the panels below the text of a lesson."""
WELCOME_TEXT = "This takes ten minutes. Type your guess and press Enter. "
PATH_END_TITLE = "The end of the path"
PATH_END_TEXT = "{score}\n{missed}\nEnter: exercises about {topic}\nesc: your own shapes"
"""The template of the text after the last lesson of a learning path."""
POINTS_TITLE = "What the stations showed"
END_PROMPT = "Press Enter for exercises about {topic}, or esc for your own shapes."
"""The prompt after the last lesson of a learning path."""
DONE_SYMBOL, MISSED_SYMBOL, CURRENT_SYMBOL, LATER_SYMBOL = "✓", "✗", UNICODE.pointer, "·"
"""The symbols of done, missed, current and later items in the list beside a task."""
MIN_OUTLINE_WIDTH, MIN_OUTLINE_HEIGHT = 110, 30
"""The minimum size of a screen with the outline beside a task, and the legend of the pictures below it."""
OUTLINE_TEXT_WIDTH = 34
"""The width of the outline, in cells."""
TOPIC_NAMES = {
    "zero": "what a 0 copies",
    "infer": "what -1 stands for",
    "perm": "which way a permutation points",
    "shuffle": "the three stages of a Shuffle",
    "broadcast": "sizes of 1 that are repeated",
    "operands": "shapes of several tensors",
    BUILD: "which ops lead from one shape to another",
}
"""The name of each topic of exercises, in the order in which the topics are learnt."""
TOPICS_PROMPT = "Enter begins. For several topics at once, type them:"
LAST_ORDER_LESSON = "cut-pieces"
"""The id of the last lesson on the order of elements, below which the list has a separator line."""
DRILL_PREFIX = "exercises: "
"""The prefix of a topic of exercises in the list."""


class TaskPane(Vertical):
    """A pane with a text, a task, a field for the prediction, and pictures.

    The task stays visible while the text is scrolled.
    """

    def __init__(self) -> None:
        """Create a pane without a task."""
        super().__init__(id="task")
        self.current_task: Task | None = None
        self.is_revealed = False
        self.title = ""
        """The title of the lesson or the exercise."""
        self.is_scored = False
        """Whether the first prediction for the task has been scored."""
        self.last_judged_prediction = ""
        """The last judged prediction, as typed."""
        self._is_judged_wrong = False
        """Whether the visible feedback concerns a wrong prediction."""
        self._hint_count = 0
        self._last_prediction: Prediction = None
        self._mistaken_prediction = ""
        self._idle_prompt = TOPICS_PROMPT
        """The prompt while there is no task."""
        self.cut_state: CutState | None = None
        """The state of the tape that the user cuts, or None if the answer is typed."""

    def compose(self) -> ComposeResult:
        """Compose the text, the task, the field, the feedback and the pictures."""
        with VerticalScroll(id="lesson", classes="panel", can_focus=False):
            yield Static("", id="text", markup=False)
            yield Static("", id="notes", markup=False)
        with VerticalScroll(id="pictures", classes="panel", can_focus=False):
            yield Static("", id="shown", markup=False)
        with Vertical(id="answering", classes="panel"):
            yield Static("", id="asked", markup=False)
            yield AnswerField(id="prediction")
            yield Static("", id="judgement", markup=False)
        yield Pane("signs")

    def on_mount(self) -> None:
        """Set the title of the signs."""
        signs = self.query_one("#signs", Pane)
        signs.can_focus, signs.border_title = False, Content("Signs")

    @on(Input.Changed)
    def clear_judgement(self, event: Input.Changed) -> None:
        """Clear the feedback on a wrong prediction when the user changes the prediction."""
        if self._is_judged_wrong and not self.is_revealed and event.value.strip() != self.last_judged_prediction:
            self.show_feedback("")

    @property
    def field(self) -> AnswerField:
        """The field for the prediction."""
        return self.query_one(AnswerField)

    def show_task(
        self, title: str, text: RenderableType, task: Task | None, notes: str = "", prompt: str = TOPICS_PROMPT
    ) -> None:
        """Show a text below a title, and a new task.

        If `task` is None, the user types topics of exercises into the field, and `prompt` is the text before it.
        """
        self.title = title
        self.set_class(not text and not notes, "-textless")
        self.set_class(task is None, "-idle")
        self.current_task, self.is_revealed, self.is_scored, self._hint_count, self._last_prediction = (
            task,
            False,
            False,
            0,
            None,
        )
        self.remove_class("-revealed")
        self._is_judged_wrong = False
        self.cut_state = None
        if task and task.kind == judging.CUT:
            self.cut_state = CutState(tuple(map(int, map(str, resolve_command_line(task.question).input))))
        self.field.take_key = self._handle_cut_key if self.cut_state else None
        for name, content in (("#text", text), ("#judgement", ""), ("#shown", "")):
            self.query_one(name, Static).update(content)
        self._show_prompt(prompt)
        self.show_notes(notes)
        self.field.value = self.last_judged_prediction = ""
        shape_example = "sizes and commas, or the word error"
        example = "an index: one number for each axis" if task and task.follow else shape_example
        example = "elements are left over" if self.cut_state else example
        self.field.placeholder = ("" if task.puzzle else example) if task else "topics such as zero perm"
        self._show_cuts()
        self.query_one("#lesson").scroll_home(animate=False)
        # called after the layout, because the height of the picture depends on the texts
        self.call_after_refresh(self.draw_pictures)

    def _show_prompt(self, prompt: str = "") -> None:
        """Show the question and its prompt, or a prompt without a question.

        In a narrow terminal, the prompt does not name the framework.
        """
        task = self.current_task
        self._idle_prompt = prompt = prompt or self._idle_prompt
        if task is not None:
            rules = task.dialect_phrase if self.app.size.width >= MIN_RULES_WIDTH else ""
            line = task.text if task.puzzle else f"$ shapecalc {task.question}"
            prompt = f"{line}\n{task.prompt.replace(OR_ERROR, f'{rules}{OR_ERROR}')}"
        self.query_one("#asked", Static).update(prompt)

    def _handle_cut_key(self, key: str) -> bool:
        """Move, keep or undo the cuts of the tape.

        Returns whether the key has such a function.
        """
        actions = {
            "left": lambda state: state.move_cuts(-1),
            "right": lambda state: state.move_cuts(1),
            "0": CutState.keep_cuts,
            "backspace": CutState.undo_cuts,
        }
        if self.cut_state is None or self.is_revealed or key not in actions:
            return False
        actions[key](self.cut_state)
        self.show_feedback("")
        self._show_cuts()
        self.draw_pictures()
        return True

    def _show_cuts(self) -> None:
        """Write the shape of the cut tape into the field."""
        if self.cut_state is not None:
            self.field.value = "" if self.cut_state.shape is None else shape_text(self.cut_state.shape)
            self.field.cursor_position = len(self.field.value)

    def show_titles(self, score: str) -> None:
        """Write the title of the task and the score into the border."""
        hides_text = self.has_class("-textless") or (self.has_class("-short") and self.has_class("-revealed"))
        self.query_one("#lesson").border_title = Content(self.title)
        self.query_one("#pictures").border_title = Content(self.title if hides_text else PICTURE_TITLE)
        title = ANSWER_TITLE if self.current_task else EXERCISES_TITLE
        self.query_one("#answering").border_title = Content(" · ".join(filter(None, (title, score))))

    def show_notes(self, notes: str) -> None:
        """Show the speaker notes, or hide their widget if there are none."""
        widget = self.query_one("#notes", Static)
        widget.update(Text(f"Notes: {' '.join(notes.split())}", "italic"))
        widget.display = bool(notes)

    def show_feedback(self, text: str, *, is_right: bool | None = None, solution: str = "") -> None:
        """Show feedback on the prediction.

        A check mark or a cross precedes the text, unless `is_right` is None. The answer in `solution`, which ends at
        the first colon, follows on its own line.
        """
        self._is_judged_wrong = is_right is False
        mark, colour = {True: ("✓ ", SUCCESS_COLOUR), False: ("✗ ", ERROR_COLOUR), None: ("", "default")}[is_right]
        first, space, others = text.partition(" ")
        head = (f"{mark}{first}", f"bold {colour}") if is_right else (f"{mark}{first}", colour)
        shown = Text.assemble(head, space, (others, "" if is_right else colour))
        if solution:
            answer, _, reason = solution.partition(": ")
            accent = f"bold {self.app.theme_variables.get('accent', '')}".rstrip()
            lines = (shown, Text(answer, accent), Text(reason))
            shown = stack_texts([line for line in lines if line.plain.strip()])
        self.query_one("#judgement", Static).update(shown)
        if is_right is False:
            self.field.action_select_all()  # the next key press replaces the wrong prediction

    def show_hint(self) -> None:
        """Show the next hint for the first wrong dim of the prediction."""
        if self.current_task is None:
            return
        typed = self.field.value
        prediction = (
            None
            if self.current_task.puzzle or judging.invalid_reason(self.current_task, typed)
            else judging.parse_prediction(typed)
        )
        self._hint_count, self._last_prediction = (
            (0 if prediction != self._last_prediction else self._hint_count),
            prediction,
        )
        hints = judging.graded_hints(self.current_task, resolve_command_line(self.current_task.question), prediction)
        self.show_feedback(hints[min(self._hint_count, len(hints) - 1)])
        self._hint_count += 1

    def check_new_prediction(self, typed: str) -> bool:
        """Return whether a prediction is new.

        If it is empty or repeated, a hint is shown.
        """
        if self.cut_state is not None and (left := self.cut_state.remainder):
            length, whole = self.cut_state.length, self.cut_state.piece_length
            self.show_feedback(f"{length} does not divide {whole}: {left} left over", is_right=False)
            return False
        if typed.strip() in ("", self.last_judged_prediction):
            self.show_hint()
            return False
        self.last_judged_prediction = typed.strip()
        return True

    def reveal_answer(self, mistaken: str = "") -> None:
        """Show the answer to the task in the pictures.

        The elements of the wrong prediction `mistaken` are drawn beside those of the answer, unless the user has made a
        different mistake.
        """
        if self.current_task is not None:
            self.is_revealed = True
            self._mistaken_prediction = mistaken
            self.add_class("-revealed")
            self.draw_pictures()

    def draw_pictures(self) -> None:
        """Draw the task, or the answer once it is revealed.

        A picture of the followed element and a comparison with the user's mistake precede the answer.
        """
        if self.current_task is None:
            return
        answer, width = resolve_command_line(self.current_task.question), max(MIN_PICTURE_WIDTH, self.size.width - 2)
        parts, size = list[Text | None](), dict[str, Any](width=width, height=GRID_HEIGHT)
        if self.cut_state is not None:
            accent = f"bold {self.app.theme_variables.get('accent', '')}".rstrip()
            heading = wrap_line(cut_heading(self.cut_state, accent), width)
            parts = [stack_texts([*heading, *draw_cut_tape(self.cut_state, width)])]
            parts += [draw_explanation(answer, width=width)] if self.is_revealed else []
        elif not self.is_revealed:
            is_short = self.has_class("-short")
            size["height"] = max(self.query_one("#pictures").size.height, 0 if is_short else MIN_TASK_HEIGHT)
            task = judging.draw_task(self.current_task, answer, **size)
            tape = None if self.current_task.puzzle else draw_input_tape(answer, width)
            has_elements = task.plain.startswith(f"input {shape_text(answer.input)}")
            lines = task.plain.count("\n") + 3 + (tape.plain.count("\n") if tape else 0)
            fits = not is_short or lines <= size["height"]
            parts = [task, tape if tape and not has_elements and fits else None]
        else:
            if self.current_task.follow:
                parts = [draw_grid(answer, parse_axes(self.current_task.follow), **size)]
            parts += [
                judging.draw_comparison(self.current_task, self.field.value, **size)
                or judging.draw_comparison(self.current_task, self._mistaken_prediction, **size),
                draw_explanation(answer, width=width),
            ]
        shown = stack_texts([line for part in parts if part for line in (Text(""), part)][1:])
        self.query_one("#shown", Static).update(shown)
        self.query_one("#pictures").scroll_home(animate=False)
        self._show_signs(shown.plain, width)

    def _show_signs(self, pictures: str, width: int) -> None:
        """List the signs of the pictures below the task, if they fit."""
        lines, signs = sign_lines(pictures, width - 2), self.query_one("#signs", Pane)
        others = sum(self.query_one(name).size.height for name in ("#lesson", "#answering")) + 2 * BORDER_LINES
        needed = others + pictures.count("\n") + 1 + len(lines) + 2 * BORDER_LINES
        self.set_class(bool(lines) and needed <= self.size.height, "-signed")
        signs.styles.height = len(lines) + BORDER_LINES
        signs.set_renderer(lambda _, __: stack_texts(lines))

    def on_resize(self) -> None:
        """Redraw for the new size, and hide the text in a short terminal."""
        self.set_class(self.app.size.height < MIN_TEXT_HEIGHT, "-short")
        if self.is_mounted:
            self._show_prompt()
        self.draw_pictures()


def draw_input_tape(answer: Trace | Chain, width: int) -> Text | None:
    """Draw the elements of the input as a tape.

    Returns None if the number of elements is unknown or too large.
    """
    count = product(answer.input)
    if not (answer.input and isinstance(count, int) and 0 < count <= MAX_TAPE_ELEMENTS):
        return None
    shape = shape_text(answer.input)
    path = build_tensor_path(resolve_command_line(f"chain {shape}"))
    axis = first_varying_axis(answer.input)
    return stack_texts(
        [
            Text(f"elements of {shape}", "bold"),
            *tape_lines(path, 0, None, tinted_axis=axis, width=width, glyphs=UNICODE),
        ]
    )


class TaskScreen(Dialog[Question | None]):
    """A modal screen with a task and the score."""

    KEYS: tuple[Key, ...] = KEYS

    def __init__(self, progress: Progress | None) -> None:
        """Create a screen that records results in `progress`.

        By default, the results are recorded in the user's file.
        """
        super().__init__()
        self.progress = progress or Progress()
        self.is_answered = False
        """Whether the answer to the task is revealed."""
        self.missed_tasks: list[Task | None] = []
        """The tasks whose first answer was wrong."""
        self.right_tasks: list[Task | None] = []
        """The tasks whose first answer was right."""

    @property
    def pane(self) -> TaskPane:
        """The pane of the task."""
        return self.query_one(TaskPane)

    def active_actions(self) -> frozenset[str]:
        """Return the actions that the line of keys lists.

        Of the two scroll actions, only one is included.
        """
        idle = {"submit" if self.is_answered else "submit()"}  # only one of the two keys has an effect
        return frozenset(key.action for key in (*CUT_KEYS, *self.KEYS)) - {"scroll(1)"} - idle

    def score_answer(self, *, is_right: bool) -> None:
        """Score the first answer to the task, and ignore later ones."""
        if not self.pane.is_scored:
            self.pane.is_scored = True
            self.progress.session_score.record_answer(right=is_right)
            (self.right_tasks if is_right else self.missed_tasks).append(self.pane.current_task)

    def show_keys(self) -> None:
        """Update the line of keys, and the score in the border."""
        self.pane.show_titles(str(self.progress.session_score))
        keys, active = self.shown_keys(), self.active_actions()
        line = format_key_line(active, max(MIN_PICTURE_WIDTH, self.size.width - 4), keys)
        self.query_one("#keys", ClickableText).set_text(line)
        if self.has_class("-outlined"):
            title, lines = self.outline()
            panel = self.query_one("#outline", Pane)
            panel.border_title = Content(title)
            panel.set_renderer(lambda _width, height: stack_texts(lines[:height]))

    def outline(self) -> tuple[str, list[Text]]:
        """Return the title and the lines of the list beside the task."""
        return "", []

    def compose_columns(self) -> ComposeResult:
        """Compose the list beside the task, followed by the task."""
        outline = Pane("outline")
        outline.add_class("panel")
        outline.can_focus = False
        yield outline
        yield TaskPane()

    def shown_keys(self) -> tuple[Key, ...]:
        """Return the keys that the line of keys lists while they have an effect."""
        return (*CUT_KEYS, *self.KEYS) if self.pane.cut_state and not self.is_answered else self.KEYS

    def warn_about_progress(self) -> None:
        """Warn the user once if the progress cannot be saved."""
        if message := self.progress.pop_error_message():
            self.notify(message, severity="warning", markup=False)

    def on_resize(self) -> None:
        """Hide the border in a short terminal, and update the line of keys."""
        width, height = self.app.size
        self.set_class(height < MIN_BORDER_HEIGHT, "-lowest")
        self.set_class(height >= MIN_OUTLINE_HEIGHT and width >= MIN_OUTLINE_WIDTH, "-outlined")
        self.show_keys()

    async def action_submit(self) -> None:
        """Submit the prediction in the field."""
        await self.pane.field.action_submit()

    def action_play(self) -> None:
        """Close the screen, and open the question of the task on the main screen."""
        self.dismiss(
            question_from_words(split_outside_brackets(self.pane.current_task.question))
            if self.pane.current_task
            else None
        )

    def action_scroll(self, direction: int) -> None:
        """Scroll the pictures if the answer is revealed, otherwise the text."""
        shown = "#pictures" if self.pane.is_revealed else "#lesson"
        self.query_one(shown).scroll_relative(y=2 * direction, animate=False)


class DrillScreen(TaskScreen):
    """A sequence of exercises, with the score."""

    KEYS = (
        *KEYS,
        Key("pagedown", "PgDn", "next", "next", "go to the next exercise", 4),
        Key("ctrl+t", "^T", "topic", "change_topic", "ask about the next topic", 4),
    )
    BINDINGS = make_bindings(KEYS)

    def __init__(self, topic: str = ALL, progress: Progress | None = None) -> None:
        """Create the screen with the first exercise on a topic, or on several topics."""
        super().__init__(progress)
        self.topic = topic
        self.drill = Drill(topic, random_seed(), self.progress.tally.boxes)
        self.exercise = self.drill.exercise

    def compose_contents(self) -> ComposeResult:
        """Compose the exercise above the keys."""
        with Horizontal():
            yield from self.compose_columns()
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Show the first exercise."""
        self._show_exercise()
        self.pane.field.focus()

    def active_actions(self) -> frozenset[str]:
        """Return the actions that the line of keys lists."""
        return super().active_actions() - {"answer" if self.is_answered else "next"}

    def outline(self) -> tuple[str, list[Text]]:
        """Return the list of topics beside the exercise.

        Each topic has the number of its exercises that the user knows; the title contains the score.
        """
        boxes, lines = self.progress.tally.boxes, list[Text]()
        for topic, words in TOPIC_NAMES.items():
            kinds = [name for name, kind in KINDS.items() if kind.topic == topic]
            if not kinds:
                continue
            known, is_current = sum(boxes.get(name, 0) > 0 for name in kinds), topic == self.exercise.kind.topic
            mark = CURRENT_SYMBOL if is_current else DONE_SYMBOL if known == len(kinds) else LATER_SYMBOL
            lines.append(Text(f"{mark} {topic.ljust(10)} {known} of {len(kinds)} known", "bold" if is_current else ""))
            lines += [Text(f"  {line}", "dim") for line in wrap(words, OUTLINE_TEXT_WIDTH - 2)]
            lines.append(Text(end=""))
        totals = wrap(f"all sessions: {self.progress.tally}", OUTLINE_TEXT_WIDTH)
        return "Topics", [*lines, *(Text(line, "dim") for line in totals)]

    def _show_exercise(self) -> None:
        self.exercise, self.is_answered = self.drill.exercise, False
        topic = "all topics" if self.topic == ALL else self.topic
        title = f"Exercise {self.drill.answered + 1} · {topic} · level {self.exercise.level}"
        self.pane.show_task(title, "", self.exercise.task)
        self.show_keys()

    @on(Input.Submitted)
    def handle_submitted_prediction(self, event: Input.Submitted) -> None:
        """Judge the prediction, or go to the next exercise if it is judged already."""
        if self.is_answered:
            self.action_next()
        elif self.pane.check_new_prediction(event.value):
            self._judge(event.value)

    def action_answer(self) -> None:
        """Reveal the answer, and count the exercise as wrong."""
        if not self.is_answered:
            self._judge("")

    def _judge(self, typed: str) -> None:
        """Judge and score a prediction.

        An empty prediction counts as wrong. A prediction that cannot be parsed is not scored.
        """
        if typed and (problem := judging.invalid_reason(self.exercise.task, typed)):
            self.pane.show_feedback(problem, is_right=False)
            return
        judgement = judge_answer(self.exercise, typed)
        self.is_answered = True
        self.score_answer(is_right=judgement.right)
        box = self.drill.record_answer(right=judgement.right)
        self.progress.record_answer(self.exercise.kind.name, box, right=judgement.right)
        feedback = judgement.feedback or ("right" if judgement.right else "wrong" if typed else "")
        is_right = judgement.right if typed else None
        self.pane.show_feedback(feedback, is_right=is_right, solution=judgement.solution)
        self.pane.reveal_answer()
        self.show_keys()
        self.warn_about_progress()

    def action_next(self) -> None:
        """Go to the next exercise if the current exercise is answered."""
        if self.is_answered:
            self._show_exercise()

    def action_change_topic(self) -> None:
        """Begin exercises on the next topic; all topics together follow the last one."""
        topics = [*TOPIC_NAMES, ALL]
        index = topics.index(self.topic) if self.topic in topics else len(topics) - 1
        self.topic = topics[(index + 1) % len(topics)]
        self.drill = Drill(self.topic, random_seed(), self.progress.tally.boxes)
        self._show_exercise()

    def action_back(self) -> None:
        """Close the exercises."""
        self.dismiss(None)


class LessonsScreen(TaskScreen):
    """The list of lessons and exercises, and the selected lesson.

    The field always has the focus; keys that it does not handle move the selection. If the focus changed, a key that is
    pressed soon after another could reach the wrong widget.
    """

    KEYS = (
        *KEYS,
        Key("pagedown", "PgDn", "next", "go(1)", "go to the next lesson", 4),
        Key("pageup", "PgUp", "back", "go(-1)", "go to the lesson before", 6),
        Key("ctrl+n", "^N", "notes", "notes", "show the notes for the speaker, or hide them", 7),
    )
    BINDINGS = [
        *make_bindings(KEYS),
        Binding("home", "edge(-1)", "first", show=False, priority=True),
        Binding("end", "edge(1)", "last", show=False, priority=True),
    ]

    def __init__(
        self, progress: Progress | None = None, course: Course | None = None, opening_lesson: str = ""
    ) -> None:
        """Select the lesson with the id `opening_lesson`, or the first unfinished lesson."""
        super().__init__(progress)
        self.course = Course(load_lessons()) if course is None else course
        self.are_notes_shown = self.course.shows_notes
        self.opening_lesson = opening_lesson
        self.index = 0

    @property
    def lesson(self) -> Lesson | None:
        """The selected lesson, or None if the selected entry is not a lesson."""
        return self.course.lessons[self.index] if self.index < len(self.course.lessons) else None

    def compose_contents(self) -> ComposeResult:
        """Compose the list of lessons beside the pane of the lesson."""
        with Horizontal():
            yield ChoiceList(id="list")
            yield from self.compose_columns()
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Select the initial lesson, and show or hide the list.

        The list is hidden in a learning path and in a narrow terminal.
        """
        done = self.progress.done
        indexed = [*enumerate(self.course.lessons)]
        opened = [index for index, lesson in indexed if lesson.id == self.opening_lesson]
        if self.course.is_path and not opened and PATH_DONE_ID not in done:  # continue after the last completed lesson
            opened = [max((index + 1 for index, lesson in indexed if lesson.id in done), default=0)]
        self.index = next(iter(opened or [index for index, lesson in indexed if lesson.id not in done]), 0)
        self.query_one("#list").can_focus = False
        self.pane.field.focus()
        self._fill_list()
        self._show_entry()
        self._set_list_visible(self.app.size.width >= MIN_LIST_WIDTH and not self.course.is_path)
        self.warn_about_progress()

    def active_actions(self) -> frozenset[str]:
        """Return the actions that the line of keys lists."""
        idle = {f"go({by})" for by in (-1, 1) if not 0 <= self.index + by < self._entry_count}
        if self.lesson is None or self._is_list_visible:
            if self._is_list_visible:
                return frozenset(key.action for key in LIST_KEYS)
            return frozenset({"submit", "back", "go(-1)", "go(1)", "app.save_screen('text')"}) - idle
        idle |= set() if self.lesson.notes else {"notes"}
        return super().active_actions() - idle

    def shown_keys(self) -> tuple[Key, ...]:
        """Return the keys of the list while it is visible, otherwise those of the lesson."""
        if self.lesson is None and not self._is_list_visible:
            return tuple(
                [replace(key, label="begin") if key.action == "submit" else key for key in super().shown_keys()]
            )
        return LIST_KEYS if self._is_list_visible else super().shown_keys()

    @property
    def is_finished(self) -> bool:
        """Whether the selected entry is the end of a learning path."""
        return self.course.is_path and self.lesson is None

    @property
    def _entry_count(self) -> int:
        """The number of entries in the list.

        In a learning path, the last entry is its end. Elsewhere, the visible topics follow the lessons.
        """
        return len(self.course.lessons) + (self.course.is_path or len(TOPICS) * self._is_list_visible)

    @property
    def _is_list_visible(self) -> bool:
        return self.has_class("-listing")

    def _set_list_visible(self, is_visible: bool) -> None:
        self.set_class(is_visible, "-listing")
        self.show_keys()

    def _show_entry(self) -> None:
        """Show the selected lesson, topic or end of a path."""
        lesson, self.is_answered = self.lesson, False
        if lesson is None and self.course.is_path:
            self.progress.mark_done(PATH_DONE_ID)
            prompt = END_PROMPT.format(topic=TOPIC_NAMES[self._selected_topic])
            self.pane.show_task(PATH_END_TITLE, self._end_text(), None, prompt=prompt)
        elif lesson is None:
            self.pane.show_task(f"Exercises · {self._selected_topic}", EXERCISES_TEXT, None)
        else:
            is_path = self.course.is_path
            position = f"Station {self.index + 1} of {len(self.course.lessons)} · " if is_path else ""
            welcome = WELCOME_TEXT if is_path and not self.index else ""
            text = f"{welcome}{' '.join(lesson.text.split())}"
            self.pane.show_task(
                f"{position}{lesson.title}", text, lesson.task, lesson.notes if self.are_notes_shown else ""
            )
        self.show_keys()

    def outline(self) -> tuple[str, list[Text]]:
        """Return the lessons of the course, with marks for done and for missed lessons."""
        lines, done = list[Text](), self.progress.done
        for index, lesson in enumerate(self.course.lessons):
            is_missed, is_current = lesson.task in self.missed_tasks, index == self.index
            is_done = lesson.id in done or lesson.task in self.right_tasks
            mark, hue = (LATER_SYMBOL, "dim") if not is_done else (DONE_SYMBOL, SUCCESS_COLOUR)
            mark, hue = (MISSED_SYMBOL, ERROR_COLOUR) if is_missed else (mark, hue)
            mark = CURRENT_SYMBOL if is_current else mark
            style = "bold" if is_current else "" if is_done or is_missed else "dim"
            line = Text.assemble((f"{mark} ", "bold" if is_current else hue), (lesson.title, style))
            lines.append(clip_line(line, OUTLINE_TEXT_WIDTH, UNICODE))
        if self.course.is_path:
            lines.append(Text(f"{CURRENT_SYMBOL if self.lesson is None else LATER_SYMBOL} {PATH_END_TITLE}", "bold"))
            lines += [Text(end=""), Text(f"{DONE_SYMBOL} done   {MISSED_SYMBOL} missed at first", "dim")]
        count = sum(lesson.id in done for lesson in self.course.lessons)
        return f"{'Course' if self.course.is_path else 'Lessons'} · {count} of {len(self.course.lessons)} done", lines

    def _end_text(self) -> RenderableType:
        """Format the text at the end of the learning path.

        On a high screen, it contains the point of each lesson.
        """
        lessons = self.course.lessons
        missed = sum(lesson.task in self.missed_tasks for lesson in lessons)
        answered = missed + sum(lesson.task in self.right_tasks for lesson in lessons)
        counted = (*self.missed_tasks, *self.right_tasks)
        before = sum(lesson.id in self.progress.done and lesson.task not in counted for lesson in lessons)
        score = f"{answered - missed} of {answered} at first try" if answered else "nothing was answered this time"
        score += f", {before} done before" if before else ""
        skipped = len(lessons) - answered - before
        score += f", {skipped} skipped" if skipped else ""
        titles = ", ".join(lesson.title for lesson in lessons if lesson.task in self.missed_tasks)
        head, _, others = PATH_END_TEXT.format(
            score=score, missed=titles and f"still weak: {titles}\n", topic=TOPIC_NAMES[self._selected_topic]
        ).partition("\n")
        text = Text.assemble((head, "bold"), "\n", others)
        if not self.has_class("-outlined"):
            stations = self.outline()[1][: len(lessons)]
            half = (len(stations) + 1) // 2
            table = Table.grid(padding=(0, 3))
            for left, right in zip_longest(stations[:half], stations[half:], fillvalue=""):
                table.add_row(left, right)
            return Group(text, "", table)
        points = Table.grid(padding=(0, 1))
        for lesson in lessons:
            points.add_row(
                Text(DONE_SYMBOL if lesson.id in self.progress.done else LATER_SYMBOL),
                Text(" ".join(lesson.point.split()), "dim"),
            )
        return Group(text, Text(f"\n{POINTS_TITLE}", "bold"), points)

    @property
    def _selected_topic(self) -> str:
        """The selected topic of exercises.

        At the end of a path, this is the topic of the first missed task, or else the first topic without exercises so
        far. Puzzles are the last choice.
        """
        if not self.course.is_path:
            return TOPICS[self.index - len(self.course.lessons)]
        known = {KINDS[name].topic for name, box in self.progress.tally.boxes.items() if box and name in KINDS}
        missed = [question_topic(task.question) for task in self.missed_tasks if task]
        topics = (
            *(topic for topic in missed if topic != BUILD),
            *(topic for topic in TOPIC_NAMES if topic not in known),
        )
        return next(iter(topics), BUILD)

    @on(Input.Changed)
    def hide_list(self, event: Input.Changed) -> None:
        """Hide the list when the user types an answer."""
        cuts = self.pane.cut_state
        is_typed = bool(event.value) if cuts is None else not cuts.is_untouched
        if is_typed and self.lesson and self._is_list_visible:
            self._set_list_visible(False)

    @on(OptionList.OptionSelected)
    def open_clicked_entry(self, event: OptionList.OptionSelected) -> None:
        """Open the lesson or the topic that the user clicked."""
        self.action_go(event.option_index - self.index)
        self._open_entry()

    def _open_entry(self) -> None:
        """Open the selected lesson, or exercises on the selected topic.

        If the user has typed topics, the exercises are on these topics.
        """
        if self.lesson is not None:
            self._set_list_visible(False)
            return
        try:
            screen = DrillScreen(self.pane.field.value.strip() or self._selected_topic, self.progress)
        except ShapeError as error:
            self.pane.show_feedback(
                escape_unprintable(f"{error.problem.message} ({error.problem.hint})"), is_right=False
            )
        else:
            self.app.push_screen(screen, self._close_with_question)

    def _close_with_question(self, question: Question | None) -> None:
        """Close the lessons, and return the question unless it is None."""
        if question is not None:
            self.dismiss(question)

    @on(Input.Submitted)
    def handle_submitted_prediction(self, event: Input.Submitted) -> None:
        """Judge the prediction, and reveal the answer if the prediction is right.

        While the list is visible, the selected entry is opened instead. If the lesson is already answered, the next
        entry is selected.
        """
        if self.lesson is None or self._is_list_visible:
            self._open_entry()
        elif self.is_answered:
            self.action_go(1)
        elif self.pane.check_new_prediction(event.value):
            self._judge(self.lesson, event.value)

    def _judge(self, lesson: Lesson, typed: str) -> None:
        judgement = judge_lesson_answer(lesson, typed)
        self.is_answered = judgement.right
        if not judging.invalid_reason(lesson.task, typed):
            self.score_answer(is_right=judgement.right)
        self.pane.show_feedback(f"{'Right. ' * judgement.right}{judgement.feedback}", is_right=judgement.right)
        if judgement.right:
            self.progress.mark_done(lesson.id)
            self._fill_list()
            self.warn_about_progress()
            self.pane.reveal_answer(self._explained_index)
        self.show_keys()

    @property
    def _explained_index(self) -> str:
        """The wrong index that the lesson explains, or an empty string.

        The index is the right answer to another question, which the lesson compares.
        """
        wrong = self.lesson.wrong if self.lesson and self.lesson.follow else ()
        return next((answer.typed for answer in wrong if answer.same_as), "")

    def action_answer(self) -> None:
        """Reveal the answer and the point of the lesson.

        The lesson then counts as missed.
        """
        if self.lesson is not None:
            self.score_answer(is_right=False)
            self.is_answered = True
            right = judging.prediction_text(judging.correct_prediction(self.lesson.task))
            self.pane.show_feedback(f"It is {right}. {self.lesson.point}")
        self.pane.reveal_answer(self._explained_index)
        self.show_keys()

    def action_go(self, offset: int) -> None:
        """Move the selection by `offset` entries."""
        if offset and 0 <= self.index + offset < self._entry_count:
            self.index += offset
            self.query_one("#list", ChoiceList).highlighted = self.index
            self._show_entry()

    def action_edge(self, direction: int) -> None:
        """Select the first entry, or the last one if `direction` is positive."""
        self.action_go(-self.index if direction < 0 else self._entry_count - 1 - self.index)

    def action_scroll(self, direction: int) -> None:
        """Scroll the page, or move the selection while the list is visible."""
        if self._is_list_visible:
            self.action_go(direction)
        else:
            super().action_scroll(direction)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the Home and End keys while the list is hidden."""
        return action != "edge" or self._is_list_visible

    def action_notes(self) -> None:
        """Show or hide the speaker notes."""
        self.are_notes_shown = not self.are_notes_shown
        self.pane.show_notes(self.lesson.notes if self.lesson and self.are_notes_shown else "")

    def action_back(self) -> None:
        """Return to the list, or from the list to the main screen.

        A learning path has no list; its screen is closed, and later continues with the same lesson.
        """
        if self._is_list_visible or self.course.is_path:
            self.dismiss(None)
            return
        self._set_list_visible(True)

    def _fill_list(self) -> None:
        """Fill the list with lessons and topics, and mark completed lessons."""
        widget = self.query_one("#list", ChoiceList)
        titles = [f"{'✓' if lesson.id in self.progress.done else ' '} {lesson.title}" for lesson in self.course.lessons]
        titles += [f"  {DRILL_PREFIX}{topic}" for topic in TOPICS]
        options: list[Option | None] = [Option(title) for title in titles]
        ends = {lesson.id: index for index, lesson in enumerate(self.course.lessons, 1)}
        for index in sorted({len(ends), ends.get(LAST_ORDER_LESSON, len(ends))} - {len(titles)}, reverse=True):
            options.insert(index, None)  # a separator line
        widget.clear_options().add_options(options)
        done = sum(lesson.id in self.progress.done for lesson in self.course.lessons)
        widget.border_title = Content(f"Lessons · {done} of {len(self.course.lessons)} done")
        widget.highlighted = self.index
