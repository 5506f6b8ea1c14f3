"""The app for a visitor of the web server, with links to questions."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, TextIO

from textual import events, on
from textual.drivers.web_driver import WebDriver
from textual.message import Message

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.text import escape_unprintable, is_file_argument, split_outside_brackets
from shapecalc.teaching.lessons import Course
from shapecalc.teaching.progress import VisitorProgress
from shapecalc.tui.app import NO_FILE, ShapecalcApp, UserFile
from shapecalc.tui.explore import ExploreScreen
from shapecalc.tui.question import Question, question_from_words, resolve_question

PROGRAM = "shapecalc"
SITE_HINT = "on a phone, use {}"
"""The hint on a screen that is too small; the field is the address of the static page."""
MAX_LINKED_QUESTION = 2000
"""The maximum length of a question in a link, in characters.

Servers accept addresses of about 8000 bytes.
"""


def parse_link(line: str, step: str) -> tuple[Question, int | None]:
    """Parse the query of a link into a question and a step index.

    If the step number is invalid, the step index is None. Raises `ShapeError` (usage) if the question is invalid, and
    (file) if it names a file.

    >>> question, step = parse_link("shapecalc reshape 2,3,4 0,-1", "2")
    >>> question.texts["target"], step
    ('0,-1', 1)
    """
    words = split_outside_brackets(line)
    question = question_from_words(words[1:] if words[:1] == [PROGRAM] else words)
    shapes = (*question.texts.values(), question.second_chain.partition("|")[0])
    if any(is_file_argument(text.strip()) for text in shapes):
        raise ShapeError(Problem(FILE, "a link may not name a file", "write the shape itself, such as 2,3,4"))
    result = resolve_question(question)
    if result.answer is None and result.problem is not None:
        raise ShapeError(result.problem)
    number = step.strip()
    return question, int(number) - 1 if number.isascii() and number.isdigit() and len(number) <= 5 else None


def build_link(line: str, step: int) -> dict[str, str]:
    """Return the query parameters of a link to a question.

    The result is empty if `line` is too long for a link.

    >>> build_link("shapecalc reshape 2,3,4 0,-1", 1)
    {'ask': 'reshape 2,3,4 0,-1', 'step': '2'}
    """
    return {} if len(line) > MAX_LINKED_QUESTION else {"ask": line.removeprefix(f"{PROGRAM} "), "step": str(step + 1)}


def parse_opening_question(fields: list[Any], link: list[str] | None = None) -> tuple[Question, int | None, str]:
    """Return the initial question, its step, and an error message.

    The error message is empty unless the link is invalid.

    >>> question, step, message = parse_opening_question(["reshape", {"input": "2,3"}], ["x.npy -1", "1"])
    >>> question.texts["input"], step, message
    ('2,3', 0, 'a link may not name a file')
    """
    try:
        return (*parse_link(*link), "") if link else (Question(*fields), 0, "")
    except ShapeError as error:
        return Question(*fields), 0, escape_unprintable(error.problem.message)


class ServedApp(ShapecalcApp):
    """The app of one visitor.

    The address in the browser is a link to the current question. The progress of the visitor is lost when the app
    exits.
    """

    def __init__(
        self,
        question: Question,
        step: int | None = 0,
        link_error: str = "",
        course: Course | None = None,
        site: str = "",
    ) -> None:
        """Open a question at a step.

        `link_error` is the error message for an invalid link. If `course` is not None, the app opens its lessons.
        `site` is the address of the static page for small screens.
        """
        super().__init__(
            question, step, lesson=course is not None, progress=VisitorProgress(), user_file=UserFile(NO_FILE)
        )
        self.explore.course = course
        self.driver_class = PipeDriver
        self.link_error = link_error
        self.small_screen_hint = SITE_HINT.format(site or "the page that 'shapecalc site' writes")
        self._link: dict[str, str] = {}

    def on_ready(self) -> None:
        """Show the error message for an invalid link."""
        if self.link_error:
            self.notify(self.link_error, title="the link is not followed", severity="error", markup=False)

    @on(ExploreScreen.QuestionShown)
    def send_link(self, event: ExploreScreen.QuestionShown) -> None:
        """Send a link to the current question to the browser, if the link has changed.

        The link never contains a file name.
        """
        link = build_link(event.line, event.step)
        if link and not event.is_final and link != self._link and isinstance(self._driver, PipeDriver):
            self._link = link
            self._driver.write_meta({"type": "link", **link})


class PipeDriver(WebDriver):
    """A Textual driver for browsers that communicates with the server by pipes.

    The process ends with the server. Resize messages are ignored, because the server sets the size of the page.
    """

    def start_application_mode(self) -> None:
        """Start the driver, and report that the app has the focus.

        Without this report, Textual hides the cursor, as in a background window.
        """
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        """Process messages until the input pipe is closed, and then end the process.

        The system closes the pipe even if the server is killed. The process exits immediately, because the app may be
        busy or blocked.
        """
        super().run_input_thread()
        if not self.exit_event.is_set():
            os._exit(0)

    def process_message(self, message: Message) -> None:
        """Process a message, unless it is a resize message."""
        if not isinstance(message, events.Resize):
            super().process_message(message)

    def deliver_binary(self, binary: BinaryIO | TextIO, **options: Any) -> None:
        """Send a file to the server, so that the browser offers it as a download."""
        picture = binary.read()
        data = picture.encode() if isinstance(picture, str) else picture
        self._write(b"P%s%s" % (len(data).to_bytes(4, "big"), data))
