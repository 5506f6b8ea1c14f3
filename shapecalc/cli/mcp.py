"""`shapecalc mcp`: the same answers for coding agents, by the Model Context Protocol on standard input and output.

Source: modelcontextprotocol.io, specification 2025-11-25, tools.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from shapecalc import __version__
from shapecalc.cli.options import Command
from shapecalc.cli.output import Exit, Output, abandon_stdout, stream_error, tell
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


INSTRUCTIONS = (
    "Ask before you write a reshape or transpose, and when a runtime refuses one: the answers are worked out by the "
    "documented rules of the framework, the dialect. Dims are numbers or names; an answer tells the conditions under "
    "which it holds for all sizes of these names."
)


def run_mcp(out: Output) -> int:  # noqa: ARG001 - it prints no answer
    """Answer calls until standard input ends."""
    for name in ("stdin", "stdout"):
        if getattr(sys, name) is None:
            raise stream_error(name, "it is closed")
    try:
        import anyio
        import mcp.server.stdio  # noqa: F401 - it says whether the extra is installed
    except ImportError as error:
        package = str(error.name).partition(".")[0]
        raise stream_error("mcp", f"{package} is not installed; pip install 'shapecalc[mcp]'") from None
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that waits for a message cannot be interrupted
    if sys.stdin.isatty():
        tell("shapecalc: waiting for an agent's messages on standard input; Ctrl-D ends it")
    try:
        anyio.run(_serve, Path.cwd())
    except* BrokenPipeError:
        abandon_stdout()  # the agent has gone
    except* OSError as errors:
        abandon_stdout()
        raise stream_error("mcp", _first_of(errors).strerror) from None
    return Exit.YES


def _first_of(errors: ExceptionGroup[OSError]) -> OSError:
    """Return the first error of a group, which may hold groups itself."""
    first = errors.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


async def _serve(folder: Path) -> None:
    """Answer the calls of one client, with files of a folder."""
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    from shapecalc.cli.agent_tools import agent_tools, call

    tools = agent_tools()
    listed = [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        )
        for tool in tools.values()
    ]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answered = call(tools, asked.name, asked.arguments or {}, folder)
        except ShapeError as error:
            said = types.TextContent(type="text", text=visible(str(error.problem)))
            return types.CallToolResult(content=[said], is_error=True)
        said = types.TextContent(type="text", text=answered.text)
        return types.CallToolResult(content=[said], structured_content=answered.json)

    server = Server(
        "shapecalc", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


MCP_COMMAND = Command(
    name="mcp",
    run=run_mcp,
    parameters=(),
    summary="Answer coding agents, by the Model Context Protocol.",
    examples="""\
  shapecalc mcp
  claude mcp add shapecalc -- shapecalc mcp""",
    more=""" An agent starts it and talks to it on standard input and output. It has a tool for every
op, and for chain, compare, doctor and model. Each answers with text and with the JSON of --json.
Of arrays and models it reads only the shapes, and only in the folder in which it was started.
Needs: pip install 'shapecalc[mcp]'.""",
)
