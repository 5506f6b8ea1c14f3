"""The app as it is served: the links to what it shows, and the pipes that it draws on and takes its keys from."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, TextIO

from textual import events, on
from textual.drivers.web_driver import WebDriver
from textual.message import Message

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.text import is_file, split, visible
from shapecalc.teaching.lessons import Course
from shapecalc.teaching.progress import VisitorProgress
from shapecalc.tui.app import NOWHERE, ShapecalcApp, UserFile
from shapecalc.tui.explore import Explore
from shapecalc.tui.question import Question, answer_question, question_of

PROGRAM = "shapecalc"
LONGEST = 2000
"""The characters of the longest question that is put into a link; servers take addresses of about 8000 bytes."""


def linked_question(ask: str, step: str) -> tuple[Question, int | None]:
    """Return the question that a link holds, and its step from 0, or None.

    Raises `ShapeError`: usage if it cannot be read, file if a file is named.

    >>> question, step = linked_question("shapecalc reshape 2,3,4 0,-1", "2")
    >>> question.texts["target"], step
    ('0,-1', 1)
    """
    words = split(ask)
    question = question_of(words[1:] if words[:1] == [PROGRAM] else words)
    shapes = (*question.texts.values(), question.second_chain.partition("|")[0])
    if any(is_file(text.strip()) for text in shapes):
        raise ShapeError(Problem(FILE, "a link may not name a file", "write the shape itself, such as 2,3,4"))
    result = answer_question(question)
    if result.answer is None and result.problem is not None:
        raise ShapeError(result.problem)
    number = step.strip()
    return question, int(number) - 1 if number.isascii() and number.isdigit() and len(number) <= 5 else None


def link_of(line: str, at: int) -> dict[str, str]:
    """Return what the link to a question holds, for its command line and the place in its answer; nothing if too long.

    >>> link_of("shapecalc reshape 2,3,4 0,-1", 1)
    {'ask': 'reshape 2,3,4 0,-1', 'step': '2'}
    """
    return {} if len(line) > LONGEST else {"ask": line.removeprefix(f"{PROGRAM} "), "step": str(at + 1)}


def opening(fields: list[Any], link: list[str] | None = None) -> tuple[Question, int | None, str]:
    """Return the question and the step to open with, and what is wrong with the link that was followed.

    >>> question, step, complaint = opening(["reshape", {"input": "2,3"}], ["x.npy -1", "1"])
    >>> question.texts["input"], step, complaint
    ('2,3', 0, 'a link may not name a file')
    """
    try:
        return (*linked_question(*link), "") if link else (Question(*fields), 0, "")
    except ShapeError as error:
        return Question(*fields), 0, visible(error.problem.message)


class ServedApp(ShapecalcApp):
    """The app of a visitor: its address is a link to what is on the screen, and what was kept ends with it."""

    def __init__(
        self, question: Question, step: int | None = 0, complaint: str = "", course: Course | None = None
    ) -> None:
        """Open with a question, at one of its steps, and say what is wrong with the link that was followed.

        If there is a `course`, its lessons are open.
        """
        super().__init__(
            question, step, lesson=course is not None, progress=VisitorProgress(), user_file=UserFile(NOWHERE)
        )
        self.explore.course = course
        self.driver_class = PipeDriver
        self.complaint = complaint
        self._link: dict[str, str] = {}

    def on_ready(self) -> None:
        """Say what is wrong with the link."""
        if self.complaint:
            self.notify(self.complaint, title="the link is not followed", severity="error", markup=False)

    @on(Explore.QuestionShown)
    def send_link(self, shown: Explore.QuestionShown) -> None:
        """Tell the page the link to what is on the screen, if it is another one now; none names a file."""
        link = link_of(shown.line, shown.at)
        if link and not shown.for_good and link != self._link and isinstance(self._driver, PipeDriver):
            self._link = link
            self._driver.write_meta({"type": "link", **link})


class PipeDriver(WebDriver):
    """Textual's driver for browsers, which ends with the server and trusts no visitor."""

    def start_application_mode(self) -> None:
        """Show the cursor from the start: Textual opens as if another window had the keyboard."""
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        """Take the keys, and end this process when the pipe that they come through does.

        The server's end of it is closed however the server dies. The app may hang or be busy, so it is not shown.
        """
        super().run_input_thread()
        if not self.exit_event.is_set():
            os._exit(0)

    def process_message(self, message: Message) -> None:
        """Take a message out of what was typed; none of a size, since only the server says how large the page is."""
        if not isinstance(message, events.Resize):
            super().process_message(message)

    def deliver_binary(self, binary: BinaryIO | TextIO, **options: Any) -> None:
        """Send a picture of the screen to the server, which hands it to the browser."""
        picture = binary.read()
        data = picture.encode() if isinstance(picture, str) else picture
        self._write(b"P%s%s" % (len(data).to_bytes(4, "big"), data))
