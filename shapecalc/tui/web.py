"""What a served app draws on and takes its keys from: pipes to the server, as Textual's driver for browsers has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

from textual import events
from textual.drivers.web_driver import WebDriver
from textual.message import Message


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
