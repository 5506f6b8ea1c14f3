"""The app as it is served, and what it draws on and takes its keys from: pipes to the server, as Textual has them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

from textual import events, on
from textual.drivers.web_driver import WebDriver
from textual.message import Message

from shapecalc.teaching.progress import VisitorProgress
from shapecalc.tui.app import ShapecalcApp
from shapecalc.tui.links import link_of
from shapecalc.tui.memory import VisitorMemory
from shapecalc.tui.screens.explore import Explore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.teaching.lessons import Course
    from shapecalc.tui.question import Question


class ServedApp(ShapecalcApp):
    """The app of a visitor: its address is a link to what is on the screen, and what was kept ends with it."""

    def __init__(
        self, question: Question, step: int | None = 0, complaint: str = "", course: Course | None = None
    ) -> None:
        """Open with a question, at one of its steps, and say what is wrong with the link that was followed.

        If there is a `course`, its lessons are open.
        """
        super().__init__(question, step, lesson=course is not None, progress=VisitorProgress(), memory=VisitorMemory())
        self.explore.course = course
        self.driver_class = PipeDriver
        self.complaint = complaint
        self._link: dict[str, str] = {}

    def on_ready(self) -> None:
        """Say what is wrong with the link."""
        if self.complaint:
            self.notify(self.complaint, title="the link is not followed", severity="error", markup=False)

    @on(Explore.Asked)
    def send_link(self, asked: Explore.Asked) -> None:
        """Tell the page the link to what is on the screen, if it is another one now; none names a file."""
        link = link_of(asked.line, asked.at)
        if link and not asked.for_good and link != self._link and isinstance(self._driver, PipeDriver):
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

        The server's end of it is closed however the server dies. The app may hang or be busy, so it is not asked.
        """
        super().run_input_thread()
        if not self.exit_event.is_set():
            os._exit(0)

    def process_message(self, message: Message) -> None:
        """Take a message out of what was typed; none of a size, since only the server says how large the page is."""
        if not isinstance(message, events.Resize):
            super().process_message(message)

    def deliver_binary(
        self,
        binary: BinaryIO | TextIO,
        *,
        delivery_key: str,
        save_path: Path,
        open_method: Literal["browser", "download"] = "download",
        encoding: str | None = None,
        mime_type: str | None = None,
        name: str | None = None,
    ) -> None:
        """Send a picture of the screen to the server, which hands it to the browser."""
        picture = binary.read()
        data = picture.encode() if isinstance(picture, str) else picture
        self._write(b"P%s%s" % (len(data).to_bytes(4, "big"), data))
