"""`shapecalc mcp`: a Model Context Protocol server for coding agents.

The tools are the ops and some other commands. A tool call returns text, and the JSON object that the command prints
with `--json`. The server reads only headers of files in its working folder. Each call runs in its own process, which is
killed if the agent cancels the call or if the call exceeds the time limit. Source: modelcontextprotocol.io,
specification 2025-11-25, tools.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache, partial
from math import inf
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from shapecalc.cli import output
from shapecalc.cli.chains import reject_shared_options
from shapecalc.cli.options import Command
from shapecalc.core import __version__
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.limits import MAX_AGENT_ANSWER_LENGTH, MAX_AGENT_LINE_BYTES, MAX_SHAPE_DIMS
from shapecalc.core.ops import OPS, all_params, supporting_dialects
from shapecalc.core.ops.op import Op
from shapecalc.core.packages import missing_package_message
from shapecalc.core.params import LIST_SCHEMA, TEXT_SCHEMA, JsonSchema, ParamType
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import StageRequest, apply_chain_options, make_request
from shapecalc.core.text import (
    escape_unprintable,
    is_file_argument,
    lookup,
    shape_text,
    split_file_argument,
    suggest_name,
    truncate,
)
from shapecalc.core.values import describe_value, parse_sizes
from shapecalc.reading.commands import parse_chain
from shapecalc.reading.options import RULE_OPTIONS, Option, rule_options
from shapecalc.reasoning.answers import answer_chain, answer_request
from shapecalc.reasoning.compare import Comparison, compare, compare_chain

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from mcp.server.lowlevel import Server
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCError

CallArguments = Mapping[str, Any]
INPUT_SCHEMA = {
    **LIST_SCHEMA,
    "description": 'the input shape: 2,3,4 or N,C,H,W or [2, "C"]; or a file: x.npy, x.npz:NAME',
}
CHAIN_SCHEMA = {**TEXT_SCHEMA, "description": "2,3,4 | transpose 1,0,2 | reshape 2,-1,3"}
CHAIN_DESCRIPTION = "Apply several ops in a row. Returns the output shape with every step; options apply to all stages."
COMPARE_PROPERTIES: dict[str, JsonSchema] = {
    "op": {"type": "string", "enum": [*OPS]},
    "input": INPUT_SCHEMA,
    "arguments": {"type": "object", "description": "the arguments of the op, named as in its own tool"},
    "chain": {**TEXT_SCHEMA, "description": "instead of op, input and arguments: 2,3 | transpose | reshape 0,-1"},
    "dialects": {"type": "array", "items": {"type": "string", "enum": [*DIALECTS]}},
}
COMPARE_DESCRIPTION = (
    "Resolve an op or chain under every dialect, at every setting of its switch; * marks answers that differ."
)
MESSAGE_SCHEMA = {**TEXT_SCHEMA, "description": "the message, the traceback or the whole log, unchanged"}
DOCTOR_DESCRIPTION = "Explain a runtime's error message about shapes: its cause, the fix, and missing facts."
MODEL_PROPERTIES: dict[str, JsonSchema] = {
    "file": {**TEXT_SCHEMA, "description": "the .onnx file"},
    "node": {**TEXT_SCHEMA, "description": "name or path of a listed node; without it, the failing nodes are listed"},
    "batch": {**TEXT_SCHEMA, "description": "name of the batch dim, and the sizes to check: N,1,2,8"},
}
MODEL_DESCRIPTION = "List the nodes of an ONNX model that break at another batch size, with the reason and the fix."
MAX_MESSAGE_LENGTH = 1 << 24
"""Maximum length, in characters, of the argument that contains error messages."""
CALL_TIMEOUT = 30
"""Maximum duration of a tool call in seconds."""
MAX_CONCURRENT_CALLS = 2
"""Maximum number of tool calls that run at the same time.

Further calls wait; their waiting time does not count towards `CALL_TIMEOUT`.
"""
INSTRUCTIONS = (
    "Call a tool before you write a reshape or transpose, and when a runtime refuses one. Answers follow the "
    "documented rules of the framework, the dialect. Dims are numbers or names; an answer lists the conditions under "
    "which it holds for all sizes of these names."
)


class ToolResult(Record):
    """The result of a tool call; `json` is empty if the call failed."""

    text: str
    json: dict[str, Any]


class AgentTool(Record):
    """A tool of the server: its name, its JSON schema and its function."""

    name: str
    description: str
    schema: JsonSchema
    function: Callable[[CallArguments, Path], ToolResult]

    def call(self, arguments: CallArguments, folder: Path) -> ToolResult:
        """Check the arguments of a call and run the tool.

        `folder` is the only folder in which files may be read. Raises `ShapeError` (usage) for invalid arguments, and
        (file) if a file cannot be used.
        """
        known = self.schema["properties"]
        for name, value in arguments.items():
            if name not in known:
                shown = escape_unprintable(truncate(name))
                raise usage_error(f"{self.name} takes no '{shown}'", suggest_name(shown, known), argument=name)
            is_text = self.name not in OPS and known[name].get("type") == "string"  # the op itself checks its arguments
            if is_text and not isinstance(value, str | None):
                raise usage_error(f"{name} is a text, not {describe_value(value)}", argument=name)
            limit = (
                MAX_SHAPE_DIMS
                if isinstance(value, list)
                else MAX_MESSAGE_LENGTH
                if name == "message"
                else output.MAX_INPUT_BYTES
            )
            if isinstance(value, str | list) and len(value) > limit:
                raise usage_error(f"{name} is longer than {limit}", argument=name)
        for name in self.schema["required"]:
            if arguments.get(name) is None:
                raise usage_error(f"{self.name} needs {name}", argument=name)
        return self.function(arguments, folder)


@cache
def make_tools() -> dict[str, AgentTool]:
    """Return the tools by name: one per op, and chain, compare, doctor and model."""
    rule_properties = _rule_option_properties(rule_options(), DIALECTS)
    others = {option.name: rule_properties[option.name] for option in RULE_OPTIONS.values() if option.name != "dialect"}
    tools = [*map(_make_op_tool, OPS.values())]
    for name, description, properties, required, function in (
        ("chain", CHAIN_DESCRIPTION, {"chain": CHAIN_SCHEMA} | rule_properties, ["chain"], _run_chain),
        ("compare", COMPARE_DESCRIPTION, COMPARE_PROPERTIES | others, [], _run_compare),
        ("doctor", DOCTOR_DESCRIPTION, {"message": MESSAGE_SCHEMA}, ["message"], _run_doctor),
        ("model", MODEL_DESCRIPTION, MODEL_PROPERTIES, ["file"], _run_model),
    ):
        tools.append(AgentTool(name, description, _object_schema(properties, required), function))
    return {tool.name: tool for tool in tools}


def _object_schema(properties: Mapping[str, JsonSchema], required: Iterable[str]) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


def _rule_option_properties(options: Iterable[Option], dialects: Iterable[str]) -> dict[str, JsonSchema]:
    """Return the JSON schema of each option that selects rules, such as `opset`.

    `dialects` are the allowed values of the option `dialect`.
    """
    kinds: dict[str, JsonSchema] = {
        "dialect": {"type": "string", "enum": [*dialects]},
        "opset": {"type": "integer", "minimum": 1},
        "dtype": TEXT_SCHEMA,
        "where": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    return {
        option.name: {**kinds.get(option.name, ParamType.FLAG.schema), "description": option.help} for option in options
    }


def _make_op_tool(op: Op) -> AgentTool:
    properties: dict[str, JsonSchema] = {"input": INPUT_SCHEMA} | {param.name: param.schema for param in all_params(op)}
    properties |= _rule_option_properties(rule_options(op), [dialect.name for dialect in supporting_dialects(op)])
    required = ["input", *(param.name for param in op.params if param.required)]
    description = f"{op.summary} Returns the output shape with every step, under the rules of {op.default_dialect}"

    def run_op(arguments: CallArguments, folder: Path) -> ToolResult:
        """Resolve the request in the arguments of a tool call."""
        shape, options = _resolve_input(arguments["input"], {**arguments, "input": None}, op.name, folder)
        return _format_result(answer_request(make_request(op.name, shape, options)))

    return AgentTool(op.name, f"{description} or of another dialect.", _object_schema(properties, required), run_op)


def _run_chain(arguments: CallArguments, folder: Path) -> ToolResult:
    """Run the tool `chain`: apply the stages of a chain to its input."""
    shape, parsed_stages = _parse_chain(arguments["chain"], arguments.get("dialect"))
    options = {name: value for name, value in arguments.items() if name not in ("chain", "where")}
    stages = apply_chain_options(parsed_stages, options)
    if stages:
        (op, first), *others = stages
        shape, first = _resolve_input(shape, first, op, folder)
        stages = [(op, first), *others]
    return _format_result(answer_chain(shape, stages, parse_sizes(arguments.get("where") or {})))


def _parse_chain(text: str, dialect: object = None) -> tuple[str, list[StageRequest]]:
    """Parse the input and the stages of a chain.

    `dialect` is the dialect of all stages, unless it is None. Raises `ShapeError` (usage) if `text` is not a valid
    chain.
    """
    if "|" not in text:
        raise usage_error(
            f"a chain is a text with an input and stages, not {describe_value(text)}",
            "INPUT | OP ...",
            argument="chain",
        )
    return parse_chain(text, dialect)


def _run_compare(arguments: CallArguments, folder: Path) -> ToolResult:
    """Run the tool `compare`: resolve a request or a chain under several dialects."""
    dialects, options = (
        arguments.get("dialects") or [],
        {name: arguments.get(name) for name in ("opset", "dtype", "where")},
    )
    if not isinstance(dialects, list) or not all(isinstance(name, str) for name in dialects):
        raise usage_error(f"dialects are a list of names, not {describe_value(dialects)}", argument="dialects")
    if arguments.get("chain") is not None:
        shape, stages = _parse_chain(arguments["chain"])
        for _, stage_options in stages:
            reject_shared_options(stage_options)
        shape, _ = _resolve_input(shape, {}, stages[0][0], folder)
        return _comparison_result(compare_chain(shape, stages, dialects, options))
    op, op_arguments = arguments.get("op"), arguments.get("arguments") or {}
    if not isinstance(op, str) or arguments.get("input") is None or not isinstance(op_arguments, dict):
        raise usage_error("compare needs an op, an input and arguments by name, or a chain")
    reject_shared_options(op_arguments)
    shape, _ = _resolve_input(arguments["input"], {}, lookup(op, OPS, "operation").name, folder)
    return _comparison_result(compare(op, shape, op_arguments, dialects, options))


def _comparison_result(comparison: Comparison) -> ToolResult:
    """Format a comparison of dialects as a tool result with a table."""
    from shapecalc.render.report import comparison_table

    summary = "the dialects agree" if comparison.agree else "the dialects differ"
    return ToolResult(f"{summary}\n{output.format_table(comparison_table(comparison))}", comparison.as_json())


def _run_doctor(arguments: CallArguments, _folder: Path) -> ToolResult:
    """Run the tool `doctor`: diagnose the error messages in a text."""
    from shapecalc.diagnosis.report import diagnose

    report = diagnose(arguments["message"])
    return ToolResult("\n".join(report.format_lines()), {"messages": report.as_json()})


def _run_model(arguments: CallArguments, folder: Path) -> ToolResult:
    """Run the tool `model`: report the failing nodes of a model, or one node."""
    from shapecalc.cli.model_report import node_json, node_lines, parse_size_options, report_json, table_lines
    from shapecalc.models.judge import report_model
    from shapecalc.models.report import find_node, list_failing_nodes

    names = [arguments["node"]] if arguments.get("node") is not None else []
    report = report_model(
        str(_path_in_folder(arguments["file"], folder)), parse_size_options(arguments.get("batch"), (), ()), names
    )
    if names:
        node = find_node(report, arguments["node"])
        return ToolResult("\n".join(node_lines(report, node)), node_json(node))
    failing_nodes = list_failing_nodes(report.nodes)
    return ToolResult("\n".join(table_lines(report, failing_nodes)), report_json(report, failing_nodes))


def _format_result(answer: Trace | Chain) -> ToolResult:
    """Format an answer or a refusal, with its steps, as a tool result."""
    from shapecalc.render.report import steps_text  # deferred: it imports Rich, which the help does not need

    summary = f"refused: {answer.problem}" if answer.output is None else shape_text(answer.output)
    return ToolResult(f"{escape_unprintable(summary)}\n{steps_text(answer)}", answer.as_json())


def _resolve_input(input_value: Any, options: CallArguments, op: str, folder: Path) -> tuple[Any, CallArguments]:
    """Return the shape of an input, and the options of the request.

    If the input is a file, its header is read, and its element type is added to the options. `folder` is the working
    directory of the process. Raises `ShapeError` (file) if the file cannot be used, or if its path, with symbolic links
    resolved, is outside `folder`.
    """
    if not (isinstance(input_value, str) and is_file_argument(input_value)):
        return input_value, options
    path, member = split_file_argument(input_value)
    inner_path = _path_in_folder(path, folder)
    parsed = output.read_input(f"{inner_path}:{member}" if member else str(inner_path), options, op)
    return parsed.shape, parsed.options


def _path_in_folder(path: str, folder: Path) -> Path:
    """Return a path relative to the folder, with symbolic links resolved.

    Raises `ShapeError` (file) if the path is outside the folder.
    """
    try:
        return (folder / path).resolve().relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        error = output.file_error(
            Exception(f"{escape_unprintable(truncate(path))}: it is not in the folder that the server was started in")
        )
        raise error from None


def run_mcp(output_options: output.OutputOptions) -> int:  # noqa: ARG001 - required of every command
    """Serve tool calls until standard input ends."""
    for name in ("stdin", "stdout"):
        if getattr(sys, name) is None:
            raise output.report_stream_error(name, "it is closed")
    try:
        import anyio
        import mcp.server.lowlevel  # noqa: F401 - fails if the extra is not installed
    except ImportError as error:
        raise output.report_stream_error(
            "mcp", missing_package_message(str(error.name).partition(".")[0], "mcp")
        ) from None
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python cannot interrupt the thread that reads messages
    os.environ["PYTHONSAFEPATH"] = "1"  # worker processes must not import modules from the folder
    vars(sys.modules["__main__"]).pop("__file__", None)  # worker processes must not run the script of this process
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # suppress warnings about killed worker processes
    if sys.stdin.isatty():
        output.print_stderr("shapecalc: waiting for an agent's messages on standard input; Ctrl-D ends it")
    failed: Exception | None = None
    try:
        anyio.run(_serve_client, Path.cwd())
    except* OSError as errors:
        failed = errors
    while isinstance(failed, ExceptionGroup):
        failed = failed.exceptions[0]
    if isinstance(failed, OSError):
        output.discard_stdout()
        if not isinstance(failed, BrokenPipeError):  # a broken pipe only means that the agent has disconnected
            raise output.report_stream_error("mcp", failed)
    return output.ExitCode.OK


def _make_server(folder: Path, calls: CapacityLimiter) -> Server[Any]:
    """Create the server, which lists the tools and calls them.

    `calls` limits the number of concurrent calls.
    """
    from mcp import types
    from mcp.server.lowlevel import Server

    hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools = [
        types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.schema), annotations=hints)
        for tool in make_tools().values()
    ]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with calls:
            result = await _call_in_worker(params.name, params.arguments or {}, folder)
        content, json_object = types.TextContent(type="text", text=result.text), result.json or None
        return types.CallToolResult(content=[content], structured_content=json_object, is_error=json_object is None)

    return Server(
        "shapecalc", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


async def _serve_client(folder: Path) -> None:
    """Serve one client on standard input and output.

    The tools can read only files in `folder`.
    """
    import anyio
    from anyio.from_thread import BlockingPortal
    from mcp.shared.message import SessionMessage

    lines = open(output.stdin_stream().fileno(), "rb", closefd=False)  # noqa: SIM115 - the thread reads it to the end
    calls = anyio.CapacityLimiter(MAX_CONCURRENT_CALLS)
    server = _make_server(folder, calls)
    requests, server_requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
    responses, stdout_responses = anyio.create_memory_object_stream[SessionMessage](
        inf
    )  # the buffer is unbounded, so send never waits

    async def forward(message: SessionMessage | JSONRPCError | None) -> None:
        """Send a message to the server, or an error response to the client.

        None means that standard input has ended.
        """
        if isinstance(message, SessionMessage):
            await requests.send(message)
        elif message is not None:
            await responses.send(SessionMessage(message))
        else:  # wait for the pending calls
            await anyio.wait_all_tasks_blocked()
            for _ in range(MAX_CONCURRENT_CALLS):
                await calls.acquire_on_behalf_of(object())
            # a call may still be sending its response after it has released its token
            await anyio.wait_all_tasks_blocked()
            await requests.aclose()

    async def write_responses() -> None:
        """Write each response to standard output as one line of JSON."""
        stdout = anyio.wrap_file(sys.stdout.buffer)
        async with stdout_responses:
            async for response in stdout_responses:
                line = response.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdout.write(f"{line}\n".encode())
                await stdout.flush()

    async with anyio.create_task_group() as tasks, BlockingPortal() as portal:
        tasks.start_soon(write_responses)
        Thread(target=_forward_lines, args=(lines, partial(portal.call, forward)), daemon=True).start()
        await server.run(server_requests, responses, server.create_initialization_options())


async def _call_in_worker(name: str, arguments: CallArguments, folder: Path) -> ToolResult:
    """Call a tool in a worker process, with a time limit.

    If the process has died, the call is repeated once in a new process, because an idle process may have been killed.
    """
    import anyio
    from anyio import to_process

    call = partial(to_process.run_sync, call_tool_safely, name, arguments, folder, cancellable=True)
    try:
        with anyio.fail_after(CALL_TIMEOUT):
            with suppress(anyio.BrokenWorkerProcess):
                return await call(limiter=anyio.CapacityLimiter(1))
            return await call(limiter=anyio.CapacityLimiter(1))
    except TimeoutError:
        problem = usage_error(f"the call took longer than {CALL_TIMEOUT} seconds", "ask for less at once").problem
        return ToolResult(str(problem), {})
    except anyio.BrokenWorkerProcess:
        return ToolResult(f"fault: the process of this call has died; {output.bug_report_request()}", {})


def call_tool_safely(name: str, arguments: CallArguments, folder: Path) -> ToolResult:
    """Call a tool in the worker process, and return an error as the result.

    The error is one line of text, without JSON. A timer ends the process after twice the time limit, because a killed
    server cannot end it.
    """
    import faulthandler

    faulthandler.dump_traceback_later(2 * CALL_TIMEOUT, exit=True)
    try:
        result = lookup(name, make_tools(), "tool").call(arguments, folder)
        size = len(result.text) + len(json.dumps(result.json))
        if size > MAX_AGENT_ANSWER_LENGTH:
            raise MAX_AGENT_ANSWER_LENGTH.error(f"the answer has {size} characters", "ask for less at once")
    except ShapeError as error:
        return ToolResult(escape_unprintable(str(error.problem)), {})
    except Exception as error:
        return ToolResult(output.internal_error_text(error), {})
    finally:
        faulthandler.cancel_dump_traceback_later()
    return result


def _forward_lines(lines: BinaryIO, forward: Callable[[SessionMessage | JSONRPCError | None], object]) -> None:
    """Call `forward` with each message in `lines`, and with None at the end.

    For a line that is not a message, `forward` is called with an error response. The process may exit while this
    function waits for a line.
    """
    with suppress(RuntimeError, CancelledError):  # stdout is closed, so the event loop has ended
        while line := lines.readline(MAX_AGENT_LINE_BYTES):
            rest = line
            while len(rest) == MAX_AGENT_LINE_BYTES and not rest.endswith(b"\n"):
                rest = lines.readline(MAX_AGENT_LINE_BYTES)
            if not line.isspace():
                forward(parse_message(line))
        forward(None)


def parse_message(line: bytes) -> SessionMessage | JSONRPCError:
    """Parse a line as a message, or return an error response for an invalid line.

    The error response has the id of the request if the id can be parsed. Invalid UTF-8 and lone surrogates are replaced
    by placeholder characters, because a log may be truncated in the middle of a character.
    """
    from mcp import types
    from mcp.shared.message import SessionMessage

    id, code, reason = None, types.PARSE_ERROR, f"no JSON; a line has at most {int(MAX_AGENT_LINE_BYTES)} bytes"
    try:
        value = json.loads(line.decode("utf-8-sig", "replace"))
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        request, code = json.loads(data), types.INVALID_REQUEST
        reason = "no message of JSON-RPC 2.0; one stands alone on its line"
        id = request.get("id") if isinstance(request, dict) else None
        message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        if not (isinstance(message, types.JSONRPCNotification) and "id" in request):
            return SessionMessage(message)
    except (ValueError, RecursionError):  # the error response for an invalid line is returned below
        pass
    valid_id = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    return types.JSONRPCError(jsonrpc="2.0", id=valid_id, error=types.ErrorData(code=code, message=reason))


MCP_COMMAND = Command(
    run=run_mcp,
    parameters=(),
    summary="Serve coding agents over the Model Context Protocol.",
    examples="""\
  shapecalc mcp
  claude mcp add shapecalc -- shapecalc mcp""",
    details=""" An agent starts the server and communicates over standard input and output. There is a tool for
every op, and for chain, compare, doctor and model. Each tool returns text and the JSON of --json. The server reads only
the shapes of arrays and models, and only files in the folder in which it was started. It needs the package mcp.""",
)
