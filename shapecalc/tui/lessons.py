"""The screens of lessons and exercises, which ask for predictions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_axes, split, visible
from shapecalc.teaching import ALL, BUILD, TOPICS, judging
from shapecalc.teaching.exercises import Drill, judge_exercise, new_seed, topic_of
from shapecalc.teaching.judging import Prediction, Task, answer_line
from shapecalc.teaching.lessons import PASSED, Course, Lesson, judge, lessons
from shapecalc.teaching.progress import Progress
from shapecalc.tui.question import Question, question_of
from shapecalc.tui.widgets import AnswerField, Choices, ClickableText, Dialog, Key, bindings_of, keys_line
from shapecalc.view.canvas import stack
from shapecalc.view.grid import grid
from shapecalc.view.pictures import explain

LEAST_WIDTH = 20
"""The smallest width of a picture, in cells."""
GRID_HEIGHT = 12
"""The height of the element grid above the other pictures, in lines."""
SHORT = 30
"""The terminal height below which the text is hidden in favor of the pictures, in lines."""
LOWEST = 16
"""The terminal height below which the border is hidden, in lines."""
KEYS = (
    Key("enter", "enter", "predict", "submit", "judge the prediction; give a hint, if nothing new is typed", 0),
    Key("enter", "enter", "go on", "submit()", "go on, once it is answered", 0),
    Key("f1", "F1", "help", "app.help", "explain this", 1),
    Key("ctrl+g", "^G", "answer", "answer", "show the answer", 2),
    Key("escape", "esc", "leave", "back", "go back", 3),
    Key("f5", "F5", "play", "play", "go to the main screen with this question", 5),
    Key("ctrl+s", "^S", "text", "app.save_screen('text')", "copy the screen as text, and save it", 8),
    Key("up", "↑↓", "scroll", "scroll(-1)", "scroll up", 9),
    Key("down", "↑↓", "scroll", "scroll(1)", "scroll down", 10),
)
"""The keys of every screen with a task."""
ABOUT = (
    "Questions that get harder. A missed one comes back soon, a known one later each time. Showing the "
    "answer counts as a miss; a hint does not count."
)
NARROW = 76
"""The terminal width below which the list is not beside the lesson, in cells."""
HELLO = "Ten minutes from nothing: type what you think, and enter judges it. "
END = (
    "Missed at first: {missed}.\nNext: exercises about {topic}.\n\n^S keeps this screen in a file. "
    "esc goes on to the main screen, where ^R plays any question as a film, and F5 has all lessons.\n"
)
"""The text at the end of a path of lessons."""
TOPICS_ASKED = "Enter begins. For several topics at once, type them:"
DRILL = "exercises: "
"""The prefix of exercise topics in the list."""


class TaskPane(Vertical):
    """A text, a task, the field for the prediction, and the pictures of the answer.

    The task stays visible when the text scrolls.
    """

    def __init__(self) -> None:
        """Create a pane without a task."""
        super().__init__(id="task")
        self.asked: Task | None = None
        self.revealed = False
        self.marked = False
        """Whether the first answer was scored."""
        self.judged = ""
        """The text that was judged last."""
        self._helped = 0
        self._last: Prediction = None

    def compose(self) -> ComposeResult:
        """Compose the field below the task, and the feedback below the field."""
        with VerticalScroll(id="lesson", can_focus=False):
            yield Static("", id="text", markup=False)
            yield Static("", id="notes", markup=False)
        yield Static("", id="asked", markup=False)
        yield AnswerField(id="prediction")
        yield Static("", id="judgement", markup=False)
        with VerticalScroll(id="pictures", can_focus=False):
            yield Static("", id="shown", markup=False)

    @property
    def field(self) -> AnswerField:
        """The field for the prediction."""
        return self.query_one(AnswerField)

    def ask(self, text: Text, task: Task | None, notes: str = "") -> None:
        """Show a text and an unanswered task; without a task, ask for topics."""
        self.asked, self.revealed, self.marked, self._helped, self._last = task, False, False, 0, None
        self.remove_class("-revealed")
        line = task and (task.shown if task.builds else f"$ shapecalc {task.question}")
        prompt = f"{line}\n{task.asks}" if task else TOPICS_ASKED
        for name, content in (("#text", text), ("#asked", prompt), ("#judgement", ""), ("#shown", "")):
            self.query_one(name, Static).update(content)
        self.put_notes(notes)
        self.field.value = self.judged = ""
        example = "an index such as 2,3" if task and task.follow else "a shape such as 2,3,4"
        self.field.placeholder = ("" if task.builds else example) if task else "topics such as zero perm"
        self.query_one("#lesson").scroll_home(animate=False)
        self.call_after_refresh(self.draw)  # after the layout, because the height of the picture depends on the texts

    def put_notes(self, notes: str) -> None:
        """Show the notes for the speaker; hide them if they are empty."""
        widget = self.query_one("#notes", Static)
        widget.update(Text(f"Notes: {' '.join(notes.split())}\n", "italic"))
        widget.display = bool(notes)

    def tell(self, text: str, *, right: bool | None = None) -> None:
        """Show feedback on the prediction, with a mark if it is right or wrong."""
        mark, style = {True: ("✓ ", "bold green"), False: ("✗ ", "bold red"), None: ("", "")}[right]
        self.query_one("#judgement", Static).update(Text.assemble((mark, style), text))
        if right is False:
            self.field.action_select_all()  # the next key replaces it

    def hint(self) -> None:
        """Show the next hint for the first dim that is wrong in the field."""
        if self.asked is None:
            return
        typed = self.field.value
        prediction = None if self.asked.builds or judging.unread(self.asked, typed) else judging.read_prediction(typed)
        self._helped, self._last = (0 if prediction != self._last else self._helped), prediction
        hints = judging.rungs(self.asked, answer_line(self.asked.question), prediction)
        self.tell(hints[min(self._helped, len(hints) - 1)])
        self._helped += 1

    def is_new(self, typed: str) -> bool:
        """Return whether a text must be judged; if not, show a hint.

        An empty text and the text judged last are not judged.
        """
        if typed.strip() in ("", self.judged):
            self.hint()
            return False
        self.judged = typed.strip()
        return True

    def reveal(self) -> None:
        """Show the answer and its pictures."""
        if self.asked is not None:
            self.revealed = True
            self.add_class("-revealed")
            self.draw()

    def draw(self) -> None:
        """Draw the task with a hole, or the answer if it is revealed.

        An answer is shown below the element grid and beside a wrong prediction.
        """
        if self.asked is None:
            return
        answer, width = answer_line(self.asked.question), max(LEAST_WIDTH, self.size.width - 2)
        parts, size = list[Text | None](), dict[str, Any](width=width, height=GRID_HEIGHT)
        if not self.revealed:
            size["height"] = self.query_one("#pictures").size.height
            parts = [judging.task_picture(self.asked, answer, **size)]
        else:
            if self.asked.follow:
                parts = [grid(answer, read_axes(self.asked.follow), **size)]
            parts += [judging.beside_truth(self.asked, self.field.value, **size), explain(answer, width=width)]
        self.query_one("#shown", Static).update(
            stack([line for part in parts if part for line in (Text(""), part)][1:])
        )
        self.query_one("#pictures").scroll_home(animate=False)

    def on_resize(self) -> None:
        """Redraw the pictures for the new size, and hide the text if it is small."""
        self.set_class(self.app.size.height < SHORT, "-short")
        self.draw()


class TaskScreen(Dialog[Question | None]):
    """A screen with a task. It covers the main screen, whose keys are inactive here."""

    KEYS: tuple[Key, ...] = KEYS

    def __init__(self, progress: Progress | None) -> None:
        """Record results in a progress; None is the user's own."""
        super().__init__()
        self.progress = progress or Progress()
        self.answered = False
        """Whether it was answered right, or the answer was shown."""
        self.missed: list[Task | None] = []
        """The tasks whose first answer was not right."""

    @property
    def pane(self) -> TaskPane:
        """The pane of the task."""
        return self.query_one(TaskPane)

    def working(self) -> frozenset[str]:
        """Return the actions that the line of keys shows; both scroll keys count as one."""
        idle = {"submit" if self.answered else "submit()"}  # Textual treats both as one action
        return frozenset(key.action for key in self.KEYS) - {"scroll(1)"} - idle

    def mark(self, *, right: bool) -> None:
        """Score the first answer to a task."""
        if not self.pane.marked:
            self.pane.marked = True
            self.progress.today.mark(right=right)
            self.missed += [] if right else [self.pane.asked]

    def show_keys(self) -> None:
        """Show the active keys below, and the score above everything."""
        self.query_one(".dialog").border_title = str(self.progress.today)
        line = keys_line(self.working(), max(LEAST_WIDTH, self.size.width - 4), self.KEYS)
        self.query_one("#keys", ClickableText).put(line)

    def complain(self) -> None:
        """Show a warning, once, if progress cannot be saved."""
        if complaint := self.progress.complaint():
            self.notify(complaint, severity="warning", markup=False)

    def on_resize(self) -> None:
        """Hide the border in a low terminal."""
        self.set_class(self.app.size.height < LOWEST, "-lowest")
        self.show_keys()

    async def action_submit(self) -> None:
        """Submit the prediction in the field."""
        await self.pane.field.action_submit()

    def action_play(self) -> None:
        """Close, and open the question on the main screen."""
        self.dismiss(question_of(split(self.pane.asked.question)) if self.pane.asked else None)

    def action_scroll(self, by: int) -> None:
        """Scroll the pictures, or the text if there are none."""
        shown = "#pictures" if self.pane.revealed else "#lesson"
        self.query_one(shown).scroll_relative(y=2 * by, animate=False)


class Drilling(TaskScreen):
    """One exercise after the other, with the score."""

    KEYS = (*KEYS, Key("pagedown", "PgDn", "next", "next", "go to the next exercise", 4))
    BINDINGS = bindings_of(KEYS)

    def __init__(self, topic: str = ALL, progress: Progress | None = None) -> None:
        """Start with the first exercise of a topic."""
        super().__init__(progress)
        self.topic = topic
        self.drill = Drill(topic, new_seed(), self.progress.tally.boxes)
        self.exercise = self.drill.exercise

    def contents(self) -> ComposeResult:
        """Compose the exercise above the keys."""
        yield TaskPane()
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Show the first exercise."""
        self._ask()
        self.pane.field.focus()

    def working(self) -> frozenset[str]:
        """Return the actions that have an effect now."""
        return super().working() - {"answer" if self.answered else "next"}

    def _ask(self) -> None:
        self.exercise, self.answered = self.drill.exercise, False
        title = f"Exercise {self.drill.answered + 1}, {self.topic}, level {self.exercise.level}\n"
        self.pane.ask(Text(title, "bold"), self.exercise.task)
        self.show_keys()

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Judge the prediction and show the answer; if it is answered already, go on."""
        if self.answered:
            self.action_next()
        elif self.pane.is_new(event.value):
            self._judge(event.value)

    def action_answer(self) -> None:
        """Show the answer, which counts as a miss."""
        if not self.answered:
            self._judge("")

    def _judge(self, typed: str) -> None:
        """Judge and score a prediction.

        An unreadable one is only reported; an empty one is a miss.
        """
        if typed and (problem := judging.unread(self.exercise.task, typed)):
            self.pane.tell(problem, right=False)
            return
        judgement = judge_exercise(self.exercise, typed)
        self.answered = True
        self.mark(right=judgement.right)
        box = self.drill.mark(right=judgement.right)
        self.progress.score(self.exercise.kind.name, box, right=judgement.right)
        self.pane.tell(judgement.said or "right", right=judgement.right if typed else None)
        self.pane.reveal()
        self.show_keys()
        self.complain()

    def action_next(self) -> None:
        """Go to the next exercise, if this one is answered."""
        if self.answered:
            self._ask()

    def action_back(self) -> None:
        """Leave the exercises."""
        self.dismiss(None)


class Lessons(TaskScreen):
    """F5: the list of lessons with the exercises after them, and the lesson that was chosen.

    The field always has the focus, and the list moves by keys that a field does not take: keys that come all at once,
    faster than a focus is handed on, end where those go that are typed slowly.
    """

    KEYS = (
        *KEYS,
        Key("pagedown", "PgDn", "next", "go(1)", "go to the next lesson", 4),
        Key("pageup", "PgUp", "back", "go(-1)", "go to the lesson before", 6),
        Key("ctrl+n", "^N", "notes", "notes", "show the notes for the speaker, or hide them", 7),
    )
    BINDINGS = [
        *bindings_of(KEYS),
        Binding("home", "edge(-1)", "first", show=False, priority=True),
        Binding("end", "edge(1)", "last", show=False, priority=True),
    ]

    def __init__(self, progress: Progress | None = None, course: Course | None = None, opens: str = "") -> None:
        """Open the list at the lesson with an id, or at the first unfinished one."""
        super().__init__(progress)
        self.course = Course(lessons()) if course is None else course
        self.noted = self.course.notes
        self.opens = opens
        self.at = 0

    @property
    def lesson(self) -> Lesson | None:
        """The selected lesson; None if exercises are selected."""
        return self.course.lessons[self.at] if self.at < len(self.course.lessons) else None

    def contents(self) -> ComposeResult:
        """Compose the list beside the lesson."""
        with Horizontal():
            yield Choices(id="list")
            yield TaskPane()
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Select the lesson to open; open it directly if the list has no space beside it."""
        done = self.progress.done
        indexed = [*enumerate(self.course.lessons)]
        opened = [index for index, lesson in indexed if lesson.id == self.opens]
        if self.course.path and not opened and PASSED not in done:  # a path continues after the last lesson done
            opened = [max((index + 1 for index, lesson in indexed if lesson.id in done), default=0)]
        self.at = next(iter(opened or [index for index, lesson in indexed if lesson.id not in done]), 0)
        self.query_one("#list").can_focus = False
        self.pane.field.focus()
        self._list()
        self._show()
        self._set_listing(self.app.size.width >= NARROW and not self.course.path)
        self.complain()

    def working(self) -> frozenset[str]:
        """Return the actions that have an effect now."""
        idle = {f"go({by})" for by in (-1, 1) if not 0 <= self.at + by < self._entries}
        if self.lesson is None:
            return frozenset({"back", "go(-1)", "go(1)", "app.save_screen('text')"}) - idle
        idle |= set() if self.lesson.notes else {"notes"}
        return super().working() - idle

    @property
    def _entries(self) -> int:
        """The number of entries.

        These are the lessons, and the exercises in the list or the end of the path.
        """
        return len(self.course.lessons) + (self.course.path or len(TOPICS) * self._listing)

    @property
    def _listing(self) -> bool:
        """Whether the list is visible."""
        return self.has_class("-listing")

    def _set_listing(self, listing: bool) -> None:
        """Show or hide the list."""
        self.set_class(listing, "-listing")
        self.show_keys()

    def _show(self) -> None:
        """Show the selected lesson, or a description of the exercises."""
        lesson, self.answered = self.lesson, False
        if lesson is None and self.course.path:
            self.progress.mark(PASSED)
            self.pane.ask(self._end(), None)
            self.pane.query_one("#shown", Static).update(explain(answer_line(self.course.lessons[-1].question)))
        elif lesson is None:
            self.pane.ask(Text.assemble((f"Exercises: {self._topic}\n\n", "bold"), f"{ABOUT}\n"), None)
        else:
            position = f"{self.at + 1} of {len(self.course.lessons)}: " if self.course.path else ""
            words = f"{HELLO if position and not self.at else ''}{' '.join(lesson.text.split())}\n"
            text = Text.assemble((f"{position}{lesson.title}\n\n", "bold"), words)
            self.pane.ask(text, lesson.task, lesson.notes if self.noted else "")
        self.show_keys()

    def _end(self) -> Text:
        """Return the text at the end of the path."""
        missed = (
            ", ".join(f"'{lesson.title}'" for lesson in self.course.lessons if lesson.task in self.missed) or "nothing"
        )
        return Text.assemble(("The end of the path\n\n", "bold"), END.format(missed=missed, topic=self._topic))

    @property
    def _topic(self) -> str:
        """The selected topic of exercises.

        At the end of the path it is the topic that was missed most.
        """
        if not self.course.path:
            return TOPICS[self.at - len(self.course.lessons)]
        topics = Counter(topic_of(task.question) for task in self.missed if task)
        return max(topics, key=topics.__getitem__, default=BUILD)

    @on(Input.Changed)
    def lead(self, event: Input.Changed) -> None:
        """Hide the list once the user types an answer."""
        if event.value and self.lesson and self._listing:
            self._set_listing(False)

    @on(OptionList.OptionSelected)
    def begin(self, event: OptionList.OptionSelected) -> None:
        """Open the lesson or the exercises that were clicked."""
        self.action_go(event.option_index - self.at)
        self._begin()

    def _begin(self) -> None:
        """Open the selected lesson, or exercises on the typed or selected topics."""
        if self.lesson is not None:
            self._set_listing(False)
            return
        try:
            screen = Drilling(self.pane.field.value.strip() or self._topic, self.progress)
        except ShapeError as error:
            self.pane.tell(visible(f"{error.problem.message} ({error.problem.hint})"), right=False)
        else:
            self.app.push_screen(screen, self._leave)

    def _leave(self, question: Question | None) -> None:
        """Close with a question that the exercises were left with."""
        if question is not None:
            self.dismiss(question)

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Judge the prediction, and show the answer if it is right.

        If it was right already, go on.
        """
        if self.lesson is None or self._listing:
            self._begin()
        elif self.answered:
            self.action_go(1)
        elif self.pane.is_new(event.value):
            self._judge(self.lesson, event.value)

    def _judge(self, lesson: Lesson, typed: str) -> None:
        judgement = judge(lesson, typed)
        self.answered = judgement.right
        if not judging.unread(lesson.task, typed):
            self.mark(right=judgement.right)
        self.pane.tell(f"{'Right. ' * judgement.right}{judgement.said}", right=judgement.right)
        if judgement.right:
            self.progress.mark(lesson.id)
            self._list()
            self.complain()
            self.pane.reveal()
        self.show_keys()

    def action_answer(self) -> None:
        """Show the answer, its pictures and the point of the lesson; counts as a miss."""
        if self.lesson is not None:
            self.mark(right=False)
            self.answered = True
            right = judging.prediction_text(judging.right_prediction(self.lesson.task))
            self.pane.tell(f"It is {right}. {self.lesson.point}")
        self.pane.reveal()
        self.show_keys()

    def action_go(self, by: int) -> None:
        """Go to the next lesson, or to the previous one."""
        if by and 0 <= self.at + by < self._entries:
            self.at += by
            self.query_one("#list", Choices).highlighted = self.at
            self._show()

    def action_edge(self, by: int) -> None:
        """Go to the first entry of the list, or to the last."""
        self.action_go(-self.at if by < 0 else self._entries - 1 - self.at)

    def action_scroll(self, by: int) -> None:
        """Move through the list if it is visible, otherwise scroll."""
        if self._listing:
            self.action_go(by)
        else:
            super().action_scroll(by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the home and end keys to the field if the list is hidden."""
        return action != "edge" or self._listing

    def action_notes(self) -> None:
        """Toggle the notes for the speaker."""
        self.noted = not self.noted
        self.pane.put_notes(self.lesson.notes if self.lesson and self.noted else "")

    def action_back(self) -> None:
        """Go back to the list, and from there to the main screen.

        A path has no list, and is not offered again.
        """
        if self.course.path:
            self.progress.mark(PASSED)
        if self._listing or self.course.path:
            self.dismiss(None)
            return
        self._set_listing(True)

    def _list(self) -> None:
        """Fill the list with the lessons, ticked if done, and the topics of exercises."""
        widget = self.query_one("#list", Choices)
        titles = [f"{'✓' if lesson.id in self.progress.done else ' '} {lesson.title}" for lesson in self.course.lessons]
        titles += [f"  {DRILL}{topic}" for topic in TOPICS]
        widget.clear_options().add_options([Option(title) for title in titles])
        widget.highlighted = self.at
