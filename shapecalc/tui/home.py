"""The start screen.

The screen has an input for everything that shapecalc accepts, and lists of lessons, exercises and recent questions.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from textwrap import wrap
from typing import Protocol

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.widgets import TextArea

from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import escape_unprintable, format_count, shape_text
from shapecalc.diagnosis.report import diagnose
from shapecalc.render.canvas import UNICODE, clip_text, stack_texts, wrap_line
from shapecalc.render.hints import verdict_text
from shapecalc.render.step import ARROW
from shapecalc.render.styles import BOLD_ERROR, ERROR_COLOUR
from shapecalc.teaching import TOPICS
from shapecalc.teaching.lessons import PATH_DONE_ID, load_lessons, load_path_lessons
from shapecalc.teaching.progress import Progress
from shapecalc.tui import explore_text
from shapecalc.tui.app_commands import CODE, COURSE, DRILL, LESSONS, MESSAGE, AppCommand, parse_command_text
from shapecalc.tui.chains import ChainComparison, compare_chains, draw_comparison
from shapecalc.tui.chains import verdict_text as comparison_text
from shapecalc.tui.panels import BORDER_LINES, MIN_PANEL_LINES, Panel, set_widget_height
from shapecalc.tui.question import (
    EXAMPLE_QUESTION,
    Question,
    question_command,
    resolve_question,
    rules_text,
    suggested_question,
)
from shapecalc.tui.side import COLUMN_WIDTH, sign_lines, step_lines
from shapecalc.tui.state import ExploreState
from shapecalc.tui.widgets import (
    ClickableText,
    Key,
    MetadataClicked,
    ScreenWithHelp,
    SizeNotice,
    format_key_line,
    key_binding_id,
)

EXAMPLES = (
    ("a shape and what it becomes", "2,3,4 0,-1"),
    ("an operation", "transpose 2,3,4 1,2,0"),
    ("several in a row", "2,3,4 | transpose 1,0,2 | reshape 0,-1"),
    ("two to compare", "2,3 | reshape 3,2 vs transpose 1,0"),
    ("a Shuffle", "shuffle 2,3,4 first 1,0,2 to 0,-1"),
    ("code", "x.view(B, T, h, C // h).transpose(1, 2)"),
    ("an error message", "shape '[5, -1]' is invalid for input of size 24"),
    ("exercises on a topic", "drill perm"),
    ("a file", "net.py, model.onnx, x.npy, train.log"),
)
"""Each kind of text that the input accepts, with an example.

The last example cannot be inserted.
"""
PURPOSE = "It answers with the shape that comes out and shows, step by step, why; ^G asks you first."
MAX_INPUT_LINES = 6
"""The maximum height of the input, in lines; a longer text is scrolled."""
INTERPRETATION_LINES = 2
"""The number of lines for the interpretation of the typed text.

They are reserved even if they are empty, so that the panels below do not move.
"""
MIN_EXAMPLE_LINES = len(EXAMPLES) + 2
MIN_BESIDE_WIDTH = 76
"""The minimum terminal width, in cells, at which the two lists are side by side."""
PANELS_END = "#keys"
"""The widget below the last panel."""
SOURCE_FILE_PATTERN = re.compile(r"\.py(::\w+)?$")
"""The pattern of the end of a source file's name."""
MIN_PAIR_WIDTH, MIN_ROW_WIDTH = 110, 160
"""The minimum width, in cells, of a screen with the examples beside the first list, and beside both lists."""
DIAGNOSIS_INDENT = 8
"""The indent of wrapped lines of a diagnosis, in cells."""
HIGH_SCREEN_LINES = 36
"""The minimum screen height, in lines, for permanent examples and for the elements at every stage."""
HIGH_PREVIEW_LINES = 18
"""The minimum height, in lines, of a picture with the elements at every stage."""
MAX_MAP_LINES = 12
"""The maximum height of a map, in lines."""

HOME_KEYS = (
    Key("enter", "enter", "open", "open_selected", "Open what is typed, or the marked entry", 0),
    Key("up", "↑", "entry", "select(-1)", "Mark the entry above", 1),
    Key("down", "↑↓", "entry", "select(1)", "Mark the entry below", 2),
    Key("e", "e", "type", "edit", "Type into the input", 3),
    Key("escape", "esc", "leave the field", "leave", "Leave the input, or empty it if it is left", 4),
    Key("ctrl+g", "^G", "guess first", "learn", "Predict before anything is shown, or see everything (kept)", -1),
    Key("question_mark", "?", "keys", "app.help", "Explain the keys", 5),
    Key("f1", "F1", "keys", "app.help", "Explain the keys", 5),
    Key("q", "q", "quit", "app.quit", "Quit", 6),
    Key("ctrl+q", "^Q", "quit", "app.quit", "Quit", 6),
)
CLEAR_KEY = Key("escape", "esc", "clear", "leave", "", 4)
"""The key that clears the input while it does not have the focus."""
LEARN_NOTE = "Learn mode is on: enter asks before it shows; ^G turns it off."
"""The note that replaces answers and pictures in learning mode, because they would reveal the dims to predict."""
TEACHING_NAMES = {DRILL: "exercises", LESSONS: "the list of lessons", COURSE: "the course of ten minutes"}
"""The name of each command that opens lessons or exercises."""
TEXT_KIND_NAMES = {MESSAGE: "an error message", CODE: "code"}
"""What the text is, if it is not a request, keyed by the command that opens it."""


class EntryOpener(Protocol):
    """The methods of the main screen that the start screen calls."""

    progress: Progress

    @property
    def is_learning(self) -> bool:
        """Whether the user predicts answers before they are shown."""

    def toggle_learning(self) -> None:
        """Turn learning mode on or off."""

    async def open_from_home(self, question: Question) -> None:
        """Close the start screen, and open a question at its first step."""

    async def open_command(self, command: AppCommand) -> None:
        """Close the start screen, and run the command that the user typed."""

    def action_course(self) -> None:
        """Open the introductory course."""

    def action_lesson_list(self) -> None:
        """Open the list of all lessons."""

    def action_drill(self) -> None:
        """Open the exercises on all topics."""


class HomeEntry(Record):
    """An entry of a list, with a title, details and an action."""

    title: str
    detail: str
    open: Callable[[], Awaitable[None] | None]
    question: Question | None = None
    """The question that the entry opens, of which a picture is drawn; None for other entries."""


class HomeInput(TextArea):
    """A multi-line input whose Enter key opens the text."""

    def __init__(self) -> None:
        """Create an empty input."""
        super().__init__(
            id="held", compact=True, soft_wrap=True, highlight_cursor_line=False, tab_behavior="focus",
            placeholder="a shape, a request, code, an error message or a file",
        )  # fmt: skip
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        """Handle a key, unless the screen handles it.

        The screen handles Enter, Esc, the up key on the first line and the down key on the last line.
        """
        row, last = self.cursor_location[0], self.document.line_count - 1
        if event.key in ("enter", "escape") or (event.key, row) in (("up", 0), ("down", last)):
            event.prevent_default()
            return
        await super()._on_key(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the arrow keys that would move the cursor out of the text.

        On the first and the last line, these keys select entries of the lists.
        """
        row, last = self.cursor_location[0], self.document.line_count - 1
        return (action, row) not in (("cursor_up", 0), ("cursor_down", last)) or bool(parameters and parameters[0])

    def action_delete_to_start_of_line(self) -> None:
        """Delete the text from the start of the line to the cursor.

        A wrapped line is a single line.
        """
        if self.cursor_at_start_of_line:
            super().action_delete_to_start_of_line()
        else:
            self.delete((self.cursor_location[0], 0), self.cursor_location)

    def action_delete_to_end_of_line(self) -> None:
        """Delete the text from the cursor to the end of the line.

        A wrapped line is a single line.
        """
        row = self.cursor_location[0]
        self.delete(self.cursor_location, (row, len(self.document.get_line(row))))

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert pasted text, with its control characters escaped."""
        event.prevent_default().stop()
        lines = [escape_unprintable(line.expandtabs(4)) for line in event.text.splitlines()]
        self.replace("\n".join(lines).strip("\n"), *self.selection)


class HomeScreen(ScreenWithHelp[None]):
    """The start. Type or paste what you have, or open an entry of the lists."""

    KEYS = HOME_KEYS
    AUTO_FOCUS = "#held"
    BINDINGS = [
        *(
            Binding(key.name, key.action, key.label, show=False, tooltip=key.help, id=key_binding_id(key))
            for key in HOME_KEYS
            if key.name not in ("question_mark", "f1")
        ),
        Binding("slash,ctrl+p", "app.command_palette", show=False),
    ]

    def __init__(self, explore: EntryOpener, questions: Sequence[str]) -> None:
        """Create the screen on top of the main screen.

        `questions` contains the command lines of recent questions.
        """
        super().__init__()
        self._preview_place = "#keys"
        """The selector of the widget below the picture."""
        self.explore, self.questions, self.progress = explore, questions, explore.progress
        self.command: AppCommand | None = None
        self.problem: ShapeError | None = None
        self.index = 0
        """The index of the selected entry."""
        self.is_selecting = False
        """Whether the user has moved the selection.

        The selected entry is then highlighted even while the input has the focus.
        """

    def compose(self) -> ComposeResult:
        """Compose the input, its interpretation, the lists and the examples."""
        yield SizeNotice(id="enlarge")
        with Container(id="ask"):
            yield HomeInput()
        yield ClickableText("read", "open_selected")
        with Container(id="lists"):
            with Container(id="entries"):
                yield Panel("start")
                yield Panel("recent")
            yield Panel("examples")
        yield Panel("preview")
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Set the titles, and draw the screen."""
        self.query_one("#ask").border_title = Content("shapecalc · what do you have?")
        for name, title in (("start", "Start"), ("recent", "Recent"), ("examples", "It reads"), ("preview", "Picture")):
            panel = self.query_one(f"#{name}", Panel)
            panel.can_focus = False
            panel.set_title(title)
        self.draw()

    def on_screen_resume(self) -> None:
        """Redraw the screen, because a lesson may have changed the next list entry."""
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size, or report that the terminal is too small."""
        self.set_class(SizeNotice.is_needed(event.size), "-small")
        self.draw()

    def on_descendant_focus(self) -> None:
        """Update the line of keys."""
        self.draw()

    def on_descendant_blur(self) -> None:
        """Update the line of keys."""
        self.call_after_refresh(self.draw)

    def start_entries(self) -> list[HomeEntry]:
        """Return the entries of the list `Start`."""
        explore, done, path = self.explore, self.progress.done, load_path_lessons()
        reached = max((index + 1 for index, lesson in enumerate(path) if lesson.id in done), default=0)
        if PATH_DONE_ID in done or not reached:
            course = HomeEntry(
                "Repeat the course" if PATH_DONE_ID in done else "Start the course",
                "ten minutes",
                explore.action_course,
            )
        else:
            where = f"{min(reached + 1, len(path))} of {len(path)}"
            course = HomeEntry("Continue the course", where, explore.action_course)
        lessons = load_lessons()
        count = sum(lesson.id in done for lesson in lessons)
        drill = f"{self.progress.tally.right} of {self.progress.tally.asked} right" if self.progress.tally.asked else ""
        example = partial(explore.open_from_home, EXAMPLE_QUESTION)
        return [
            course,
            HomeEntry("Lessons", f"{count} of {len(lessons)} done", explore.action_lesson_list),
            HomeEntry("Drill", drill or "without end", explore.action_drill),
            HomeEntry("Example", " ".join(EXAMPLE_QUESTION.texts.values()), example, EXAMPLE_QUESTION),
        ]

    def recent_entries(self) -> list[HomeEntry]:
        """Return the recent questions that are still valid, with their answers."""
        entries = list[HomeEntry]()
        for line in self.questions:
            try:
                question = parse_command_text(line).question
            except (ShapeError, ValueError):
                continue
            if question is not None:
                answer = resolve_question(question).answer
                is_hidden = answer is None or self.explore.is_learning
                detail = "" if is_hidden or answer is None else f"{ARROW} {verdict_text(answer)}"
                shown = escape_unprintable(line.removeprefix("shapecalc "))
                entries.append(HomeEntry(shown, detail, partial(self.explore.open_from_home, question), question))
        return entries

    @property
    def is_typing(self) -> bool:
        """Whether the input has the focus."""
        return isinstance(self.focused, HomeInput)

    @property
    def typed_text(self) -> str:
        """The text in the input field."""
        return self.query_one(HomeInput).text.strip()

    def on_key(self, event: events.Key) -> None:
        """Insert a character into the input, unless it is a key of the screen.

        This includes characters that were typed before the input had the focus.
        """
        if not event.is_printable or not event.character:
            return
        keys = {key.name for key in self.with_user_keys(HOME_KEYS)} | {"slash"}
        if self.is_typing or event.key not in keys:
            self.action_edit()
            self.query_one(HomeInput).insert(event.character)
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the input if it does not have the focus."""
        if not self.is_typing:
            self.action_edit()
            self.query_one(HomeInput).post_message(events.Paste(event.text))

    @on(TextArea.Changed)
    def read_typed_text(self) -> None:
        """Interpret the typed text, and show the interpretation."""
        self.command, self.problem, self.is_selecting = None, None, False
        try:
            self.command = parse_command_text(self.typed_text) if self.typed_text else None
        except ShapeError as error:
            self.problem = error
        self.draw()

    async def action_open_selected(self) -> None:
        """Open the typed text, or the selected entry if the input is empty."""
        if self.problem is not None:
            self.draw(is_refused=True)
        elif self.command is not None:
            await self.explore.open_command(self.command)
        else:
            await self.action_open(self.index)

    async def action_open(self, index: int) -> None:
        """Open the entry at an index."""
        entries = [*self.start_entries(), *self.recent_entries()]
        opened = entries[index].open() if index < len(entries) else None
        if opened is not None:
            await opened

    def action_select(self, offset: int) -> None:
        """Move the selection by `offset` entries."""
        count = len(self.start_entries()) + len(self._visible_recent_entries())
        self.index, self.is_selecting = (self.index + offset) % count, True
        self.draw()

    def action_learn(self) -> None:
        """Turn learning mode on or off."""
        self.explore.toggle_learning()
        self.draw()

    def action_edit(self) -> None:
        """Focus the input."""
        self.set_focus(self.query_one(HomeInput))

    def action_leave(self) -> None:
        """Leave the input, or clear it if it does not have the focus."""
        if self.is_typing:
            self.set_focus(None)
            self.call_after_refresh(self.draw)
        else:
            self.query_one(HomeInput).text = ""

    async def action_fill(self, index: int) -> None:
        """Insert the example at an index into the input."""
        self.query_one(HomeInput).text = EXAMPLES[index][1]
        self.action_edit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that are typed into the input."""
        return not (self.is_typing and action in ("edit", "app.quit_outside"))

    @on(MetadataClicked)
    async def handle_click(self, event: MetadataClicked) -> None:
        """Open an entry, insert an example, or run the action of a key."""
        await self.run_action(str(event.value))

    def draw(self, *, is_refused: bool = False) -> None:
        """Draw the screen.

        If `is_refused` is True, the typed text was refused, and the reason is red.
        """
        if not self.is_attached or self.has_class("-small"):
            return
        width, height = self.app.size
        lines = min(MAX_INPUT_LINES, max(1, self.query_one(HomeInput).wrapped_document.height))
        set_widget_height(self.query_one("#ask"), lines + 2)
        read = self._command_text(width - 2, is_refused=is_refused)
        read_lines = max(INTERPRETATION_LINES, read.plain.count("\n") + 1)
        read_widget = self.query_one("#read", ClickableText)
        set_widget_height(read_widget, read_lines)
        read_widget.set_text(read)
        free = height - 1 - lines - 2 - read_lines
        start, recent = self.start_entries(), self.recent_entries()
        is_beside = width >= MIN_BESIDE_WIDTH and bool(recent)
        has_examples = not self._has_picture or height >= HIGH_SCREEN_LINES
        is_joined = width >= (MIN_ROW_WIDTH if recent else MIN_PAIR_WIDTH)
        examples = MIN_EXAMPLE_LINES if has_examples and free - MIN_EXAMPLE_LINES >= len(start) + 2 else 0
        self._place_preview()
        free -= 0 if is_joined else examples
        both = max(len(start), len(recent)) if is_beside else len(start)
        start_lines = min(free, both + 2)
        recent_lines = start_lines if is_beside else min(max(0, free - start_lines), len(recent) + 2)
        recent_lines = recent_lines if recent and recent_lines > 2 else 0
        self._shown_count = min(len(recent), max(0, recent_lines - 2))
        self.index = min(self.index, len(start) + self._shown_count - 1)
        entries_lines = start_lines if is_beside else start_lines + recent_lines
        if is_joined and examples:
            start_lines += max(0, examples - entries_lines)
            recent_lines = start_lines if is_beside and recent_lines else recent_lines
            entries_lines = examples = max(examples, entries_lines)
        container = self.query_one("#entries")
        container.set_class(is_beside, "-beside")
        self.query_one("#lists").set_class(is_joined, "-joined")
        set_widget_height(container, entries_lines)
        for name, panel_lines, entries, first in (
            ("start", start_lines, start, 0),
            ("recent", recent_lines, recent[: self._shown_count], len(start)),
        ):
            panel = self.query_one(f"#{name}", Panel)
            panel.set_height(panel_lines)
            panel.set_renderer(partial(self._list_text, entries, first))
        spare = self._draw_preview(free - entries_lines, [*start, *recent])
        examples += spare * bool(examples)
        set_widget_height(
            self.query_one("#lists"), max(entries_lines, examples) if is_joined else entries_lines + examples
        )
        self.query_one("#examples", Panel).set_height(examples)
        self.query_one("#examples", Panel).set_renderer(_examples_text)
        self.query_one("#keys", ClickableText).set_text(self._key_line(width - 2))

    @property
    def _has_picture(self) -> bool:
        """Whether the typed text has a picture, which uses the lines of the examples."""
        if self.command is None or self.command.kind == MESSAGE:
            return self.command is not None
        question = self.command.question
        return not self.explore.is_learning and question is not None and resolve_question(question).answer is not None

    def _place_preview(self) -> None:
        """Move the picture of typed text above the lists, and other pictures below them."""
        place = "#lists" if self.command else PANELS_END
        if place != self._preview_place:
            self._preview_place = place
            self.move_child(self.query_one("#preview"), before=self.query_one(place))

    def _draw_preview(self, lines: int, entries: Sequence[HomeEntry]) -> int:
        """Draw the typed text or the selected entry, and return the unused line count.

        The picture uses all lines; nothing is drawn if there are too few.
        """
        panel, question = self.query_one("#preview", Panel), self.command.question if self.command else None
        if not self.typed_text or self.command is None:
            question = entries[self.index].question or EXAMPLE_QUESTION
        width, room = self.app.size.width - 4, lines - BORDER_LINES
        if self.explore.is_learning and not (self.command and self.command.kind == MESSAGE):
            drawing = Text(end="")
        elif question is not None and question.second_chain:
            panel.set_title("Both outputs")
            drawing = _comparison_picture(question, width, room)
        elif question is not None and resolve_question(question).answer is not None:
            example = "" if self.command else "for example: "
            panel.set_title(f"{example}{question_command(question, None).removeprefix('shapecalc ')}")
            drawing = _explain_picture(question, width, room)
        elif self.command is not None and self.command.kind == MESSAGE:
            panel.set_title("The message")
            drawing = _message_picture(self.command.content, width, room)
        else:
            drawing = Text(end="")
        height = drawing.plain.count("\n") + 1 + BORDER_LINES if drawing else 0
        is_shown = bool(drawing) and lines >= min(height, MIN_PANEL_LINES)
        panel.set_height(lines if is_shown else 0)
        panel.set_renderer(lambda _, __: drawing)
        return 0 if is_shown else lines

    def _visible_recent_entries(self) -> list[HomeEntry]:
        """Return the recent questions that fit the screen."""
        return self.recent_entries()[: self._shown_count]

    def _key_line(self, width: int) -> Text:
        taken = ("question_mark", "q", "e") if self.is_typing else ("f1", "ctrl+q", "escape")
        shown = tuple(key for key in HOME_KEYS if key.name not in (*taken, "up"))
        if self.explore.is_learning:
            shown = tuple(replace(key, label="show all") if key.action == "learn" else key for key in shown)
        keys = self.with_user_keys(shown) + ((CLEAR_KEY,) if self.typed_text and not self.is_typing else ())
        return format_key_line(frozenset(key.action for key in keys), width, keys)

    def _list_text(self, entries: Sequence[HomeEntry], first: int, width: int, height: int) -> Text:
        """Draw a list, and mark the selected entry.

        Entries are numbered across both lists; `first` is the number of the first entry of this list.
        """
        titles = max((len(entry.title) for entry in entries), default=0)
        lines = list[Text]()
        for index, entry in enumerate(entries[:height], first):
            is_marked = index == self.index and not self.typed_text
            is_highlighted = is_marked and (self.is_selecting or not self.is_typing)
            meta = Style(meta={"key": f"open({index})"}, reverse=is_highlighted or None, bold=is_marked or None)
            detail = clip_text(entry.detail, width // 2, UNICODE)
            room = min(titles + 2, width - len(detail) - 2) if detail else width
            title = clip_text(f"{UNICODE.pointer if is_marked else ' '} {entry.title}", room, UNICODE)
            line = Text(no_wrap=True, end="").append(title.ljust(room), "bold" if first == 0 else "")
            line.append(f"  {detail}" if detail else "", "" if is_highlighted else "dim")
            line.append(" " * max(0, width - len(line)))
            line.stylize(meta)
            lines.append(line)
        return stack_texts(lines)

    def _command_text(self, width: int, *, is_refused: bool) -> Text:
        """Describe the interpretation of the typed text, or the reason for its refusal."""
        if not self.typed_text:
            purpose = Text(LEARN_NOTE, "bold") if self.explore.is_learning else Text(PURPOSE, "dim")
            return stack_texts(wrap_line(purpose, width))
        if self.command is None:
            problem = self.problem.problem if self.problem else None
            style = ERROR_COLOUR if is_refused else "dim"
            message = f"{UNICODE.fail if is_refused else '…'} {escape_unprintable(problem.message if problem else '')}"
            lines = wrap_line(Text(message, style), width)
            return (
                stack_texts([*lines, *wrap_line(Text(f"  {escape_unprintable(problem.hint)}"), width)][:4])
                if problem and problem.hint
                else stack_texts(lines[:4])
            )
        read = TEXT_KIND_NAMES.get(self.command.kind, f"shapecalc {self.command.line}")
        lines = [Text(clip_text(f"read as: {read}", width, UNICODE), "dim")]
        return stack_texts([*lines, *self._answer_lines(self.command, width)])

    def _answer_lines(self, command: AppCommand, width: int) -> list[Text]:
        """Return the answer to a question, or a description of an error message or code."""
        if command.kind == MESSAGE:
            said = diagnose(command.content).format_lines()[0]
            return [Text(clip_text(escape_unprintable(said), width, UNICODE))]
        if command.kind in TEACHING_NAMES:
            topics = ", ".join(command.words[1:])
            others = "" if topics or command.kind != DRILL else f"; or name topics: {', '.join(TOPICS)}"
            opened = f"{TEACHING_NAMES[command.kind]}{f' on {topics}' if topics else ''}: enter begins{others}"
            return wrap_line(Text(opened), width)[:INTERPRETATION_LINES]
        if command.question is None:
            count = format_count(command.content.count("\n") + 1, "line", "lines")
            is_file = "\n" not in command.content and SOURCE_FILE_PATTERN.search(command.content)
            return [Text(f"{'a source file' if is_file else f'code of {count}'}: enter shows the shapes of each line")]
        if self.explore.is_learning:
            return [Text(LEARN_NOTE, "bold")]
        if command.question.second_chain:
            return _comparison_lines(command.question, width)
        result = resolve_question(command.question)
        if result.answer is None or result.problem is not None:
            message = result.problem.message if result.problem else "it is not complete"
            if result.answer is None:
                return wrap_line(Text(f"… {escape_unprintable(message)}; enter opens the fields"), width)[:2]
            return wrap_line(Text(f"{UNICODE.fail} {escape_unprintable(message)}", ERROR_COLOUR), width)[:2]
        accent = f"bold {self.app.theme_variables.get('accent', '')}".rstrip()
        shape = clip_text(escape_unprintable(shape_text(result.answer.input)), max(8, width // 2), UNICODE)
        verdict = clip_text(verdict_text(result.answer), width // 2, UNICODE)
        line = Text.assemble(f"{shape} {ARROW} ", (verdict, accent))
        rules = f"   {rules_text(command.question)}".rstrip()
        return [line.append(rules, "dim") if len(line) + len(rules) <= width else line]


def _compare_question(question: Question) -> ChainComparison | None:
    """Compare the two chains of a question.

    Returns None if the first chain has no answer.
    """
    answer = resolve_question(question).answer
    return None if answer is None else compare_chains(answer, question.second_chain)


def _comparison_lines(question: Question, width: int) -> list[Text]:
    """Return the verdict of a comparison, or an error message."""
    comparison = _compare_question(question)
    if comparison is None:
        return [Text("the first request cannot be read", ERROR_COLOUR)]
    first, *others = comparison_text(comparison).split("\n")
    return [first, *(wrap_line(others[-1], width) if others else ())][:2]


def _comparison_picture(question: Question, width: int, height: int) -> Text:
    """Draw the outputs of both chains of a comparison if they fit."""
    comparison = _compare_question(question)
    drawing = Text(end="") if comparison is None else draw_comparison(comparison, width, height)
    return drawing if drawing.plain.count("\n") < height else Text(end="")


def _message_picture(message: str, width: int, height: int) -> Text:
    """Draw the diagnosis of an error message.

    The map of the failing request follows if it fits.
    """
    report = diagnose(message)
    indent = " " * DIAGNOSIS_INDENT
    lines = list[Text]()
    for line in report.format_lines():
        first, *others = wrap(escape_unprintable(line), width, subsequent_indent=indent) or [""]
        lines.append(_style_diagnosis_line(first))
        lines += map(Text, others)
    question = suggested_question(report)
    if question is not None:
        state = ExploreState(question)
        for part in (explore_text.map_text(state, width, MAX_MAP_LINES), explore_text.uneven_rows_text(state, width)):
            if part and len(lines) + 2 + part.plain.count("\n") <= height:
                lines += [Text(end=""), *part.split("\n")]
    return stack_texts(lines)


def _style_diagnosis_line(line: str) -> Text:
    """Style the name of a problem, or the label at the start of a line.

    >>> [span.style for span in _style_diagnosis_line("  do    print(x.shape)").spans]
    ['bold']
    """
    text = Text(line)
    if line and not line.startswith(" "):
        text.stylize(BOLD_ERROR)
    elif line[:DIAGNOSIS_INDENT].strip():
        text.stylize("bold", 0, DIAGNOSIS_INDENT)
    return text


def _explain_picture(question: Question, width: int, height: int) -> Text:
    """Draw the picture of a question.

    On a wide screen, the steps and the signs are beside it.
    """
    picture_width = width - COLUMN_WIDTH
    if picture_width < MIN_PAIR_WIDTH:
        return _picture_text(question, width, height)
    left = [*_picture_text(question, picture_width, height).split("\n")]
    answer, room = resolve_question(question).answer, COLUMN_WIDTH - 2
    if answer is None:
        return stack_texts(left)
    steps = [line for block in step_lines(answer, len(answer.steps), room) for line in block]
    right, signs = [Text("steps", "bold"), *steps], sign_lines("\n".join(line.plain for line in left), room)
    if signs and len(right) + len(signs) + 2 <= height:
        right += [Text(end=""), Text("signs", "bold"), *signs]
    right = right[:height]
    rows = max(len(left), len(right))
    left += [Text(end="")] * (rows - len(left))
    lines = list[Text]()
    for row, line in enumerate(left):
        text = line.copy()
        text.append(" " * (picture_width + 2 - len(line)))
        lines.append(text.append_text(right[row]) if row < len(right) else text)
    return stack_texts(lines)


def _line_count(parts: Sequence[Text]) -> int:
    return sum(part.plain.count("\n") + 1 for part in parts)


def _picture_text(question: Question, width: int, height: int) -> Text:
    """Draw the map of a question, and its elements if they fit.

    The elements are those before and after the last stage, or on a high screen those at every stage.
    """
    state, is_high = ExploreState(question), height >= HIGH_PREVIEW_LINES
    drawing = explore_text.map_text(state, width, min(height, MAX_MAP_LINES + 8 * (height >= HIGH_SCREEN_LINES)))
    parts = [drawing, Text(end="")]
    if height >= HIGH_SCREEN_LINES:
        parts += [explore_text.step_text(state, width, MAX_MAP_LINES), Text(end="")]
    tapes = explore_text.tapes_text(state, width, height - _line_count(parts) if is_high else 0)
    parts.append(tapes)
    if not tapes or _line_count(parts) > height:
        return drawing
    return stack_texts(parts)


def _examples_text(width: int, height: int) -> Text:
    """Draw an example of each kind of input text.

    A click on an example inserts it into the input.
    """
    kinds = max(len(kind) for kind, _ in EXAMPLES)
    lines = list[Text]()
    for index, (kind, example) in enumerate(EXAMPLES):
        is_example = index < len(EXAMPLES) - 1
        meta = Style(meta={"key": f"fill({index})"}) if is_example else Style()
        line = Text(no_wrap=True, end="").append(kind.ljust(kinds + 2), "dim")
        line.append(clip_text(example, max(8, width - kinds - 2), UNICODE))
        line.stylize(meta)
        lines.append(line)
    return stack_texts(lines[:height])
