"""`shapecalc mcp` over standard input and output: calls by the client of the package `mcp`, and hostile lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import split

import numpy
import pytest

from shapecalc.cli.mcp import make_tools
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.limits import MAX_AGENT_ANSWER_LENGTH
from shapecalc.core.ops import OPS, all_params
from tests.cli.conftest import ROOT, command, environment, rows, run_program
from tests.models import detector
from tests.transcripts import matches_expected

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.sessions(1)

SIX = {"input": "2,3", "target": "6"}


@asynccontextmanager
async def session(folder, errors):
    """Start a server in a folder and yield a client."""
    server = StdioServerParameters(command=sys.executable, args=command("mcp")[1:], cwd=folder, env=environment())
    async with stdio_client(server, errors) as streams, ClientSession(*streams) as client:
        await client.initialize()
        yield client


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Yield a client and a function that calls it; there are arrays and links in and around the folder."""
    outer = tmp_path_factory.mktemp("outer")
    folder = outer / "project"
    folder.mkdir()
    numpy.save(outer / "secret.npy", numpy.zeros((7, 11)))
    numpy.save(folder / "x.npy", numpy.zeros((2, 3, 4), "f4"))
    numpy.savez(folder / "w.npz", a=numpy.zeros((5, 6)))
    detector.write(folder / "yolo.onnx")
    detector.write(outer / "secret.onnx")
    for name, target in {"link.npy": "../secret.npy", "up": "..", "loop.npy": "loop.npy", "near.npy": "x.npy"}.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.npy")
    stderr = outer / "stderr"
    with (
        stderr.open("w") as errors,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(session(folder, errors)) as client,
    ):
        yield client, portal.call
    assert stderr.read_text() == ""


@pytest.fixture(scope="module")
def agent(served):
    """Return a function that calls a tool."""
    client, call = served
    return lambda name, **arguments: call(client.call_tool, name, arguments)


@pytest.fixture(scope="module")
def refusal(agent):
    """Return a function that calls a tool and returns its error message, a single line."""

    def call_refused(name, **arguments):
        answer = agent(name, **arguments)
        assert (answer.is_error, answer.structured_content, len(answer.content)) == (True, None, 1)
        assert answer.content[0].text.isprintable()
        assert len(answer.content[0].text) < 300
        return answer.content[0].text

    return call_refused


def test_mcp_json_request_equals_command_line(agent, shapecalc):
    for call, line, expected in rows("mcp_answered.txt"):
        name, _, arguments = call.partition(" ")
        answer = agent(name, **json.loads(arguments))
        assert answer.structured_content == json.loads(shapecalc(name, *split(line), "--json").out)
        first, _, reasons = answer.content[0].text.partition("\n")
        assert matches_expected(expected, f"{first}\n"), call
        assert not answer.is_error
        assert line != "2,3,4 0,-1" or "-1 is 24 elements (2*3*4) / 2 known = 12  [infer]" in reasons


def test_mcp_model_equals_command(agent, refusal, shapecalc, monkeypatch, tmp_path):
    monkeypatch.chdir(detector.write(tmp_path / "yolo.onnx").parent)
    answer = agent("model", file="yolo.onnx", node="/head.0/Reshape_1")
    words = ("model", "yolo.onnx", "--node", "/head.0/Reshape_1")
    assert answer.content[0].text == shapecalc(*words).out.rstrip("\n")
    assert answer.structured_content == json.loads(shapecalc(*words, "--json").out)
    report = agent("model", file="yolo.onnx").structured_content
    assert [node["verdict"] for node in report["nodes"]] == ["swallows", "swallows", "only", "only"]
    for file in ("../secret.onnx", "nothing.onnx", "pipe.npy", "."):
        refusal("model", file=file)


def test_mcp_doctor_reads_a_message(agent, shapecalc):
    message = "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600"
    answer = agent("doctor", message=message)
    assert answer.content[0].text == shapecalc("doctor", stdin=message).out.rstrip("\n")
    assert answer.structured_content["messages"] == json.loads(shapecalc("doctor", "--json", stdin=message).out)
    assert agent("doctor", message="").content[0].text.startswith("message not recognised (paste ")


INSIDE = {"x.npy": [2, 3, 4], "./up/project/x.npy": [2, 3, 4], "near.npy": [2, 3, 4], "w.npz:a": [5, 6]}
OUTSIDE = ["../secret.npy", "link.npy", "up/secret.npy", "/dev/zero.npy", "loop.npy", "a\0.npy", "/proc/self/mem.npz:a"]
UNUSABLE = ["pipe.npy", "missing.npy", "w.npz:b", "up.npz", ".npy"]


@pytest.mark.parametrize("name", [*INSIDE, *OUTSIDE, *UNUSABLE], ids=ascii)
def test_mcp_reads_only_files_of_its_folder(name, agent, refusal):
    for tool, arguments in (
        ("reshape", {"input": name, "target": "-1"}),
        ("compare", {"op": "reshape", "input": name, "arguments": {"target": "-1"}}),
        ("chain", {"chain": f"{name} | flatten"}),
        ("compare", {"chain": f"{name} | flatten"}),
    ):
        if name in INSIDE:
            assert agent(tool, **arguments).structured_content["input"] == INSIDE[name]
        elif name in OUTSIDE:
            escaped_path = ascii(name.partition(":")[0])[1:-1]
            message = f"file: {escaped_path}: it is not in the folder that the server was started in"
            assert refusal(tool, **arguments) == message
        else:
            assert refusal(tool, **arguments).startswith(f"file: {name}: ")


def test_mcp_unreadable_call_is_one_line(refusal):
    for call, message in rows("mcp_refused.txt"):
        name, _, arguments = call.partition(" ")
        line = refusal(name, **json.loads(arguments))
        assert line.startswith("usage: "), call
        assert message in line, call


def test_mcp_schemas_match_the_command_line(served):
    tools = make_tools()
    assert [*tools] == [*OPS, "chain", "compare", "doctor", "model"]
    for op in OPS.values():
        schema = tools[op.name].schema
        names = {"input", *(param.name for param in all_params(op)), "dialect", "opset", "dtype", "where"}
        assert names <= {*schema["properties"]}
        assert {*schema["required"]} == {"input", *(param.name for param in op.params if param.required)}
        assert {*schema["properties"]["dialect"]["enum"]} <= {*DIALECTS}
        assert all(value["description"] for value in schema["properties"].values())
    client, call = served
    listed = call(client.list_tools).tools
    assert {tool.name: tool.input_schema for tool in listed} == {name: tool.schema for name, tool in tools.items()}
    assert all(tool.annotations.read_only_hint for tool in listed)


def test_mcp_too_large_answer_is_refused(refusal):
    line = refusal("chain", chain="2,3,4,5,6,7,8" + " | transpose" * 1000)
    assert f"characters, and the limit 'agent-answer' is {int(MAX_AGENT_ANSWER_LENGTH)}" in line


def test_mcp_ignores_defaults(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.shapecalc]\ndialect = 'torhc'\n")
    monkeypatch.chdir(tmp_path)
    answer = make_tools()["reshape"].call(SIX, tmp_path)
    assert answer.json["dialect"] == "onnx"


# Lines of the protocol


FAULTY_TOOLS = """
import os, time
import shapecalc.cli.mcp as served
def sleep(arguments, folder):
    part = folder / f"pid.{os.getpid()}"
    part.write_text(str(os.getpid()))
    part.replace(folder / "pid")  # whole, although the process may be killed meanwhile
    time.sleep(600)
def fail(arguments, folder):
    raise ZeroDivisionError("by zero")
served._run_doctor, served._run_model, served._run_compare = sleep, fail, lambda *_: os._exit(1)
served.CALL_TIMEOUT = int(os.environ["SECONDS"])
"""
"""Code that replaces tools of a server by ones that sleep, raise and kill their process."""


def slow_server(folder, seconds=60):
    """Return the folder and the environment of a server with faulty tools and a timeout in seconds."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(FAULTY_TOOLS)
    path = f"{folder / 'site'}{os.pathsep}{ROOT}"
    return {"folder": folder, "env": {**environment(), "PYTHONPATH": path, "SECONDS": str(seconds)}}


def request(method, id=None, **params):
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps({name: value for name, value in message.items() if value is not None})


def tool_call(id, name, **arguments):
    return request("tools/call", id, name=name, arguments=arguments)


INFO = {"name": "x", "version": "1"}
HELLO = request("initialize", 0, protocolVersion="2025-06-18", capabilities={}, clientInfo=INFO)
PING = request("ping", 9)


def exchange(*lines, folder=ROOT, env=None):
    """Return the answers of a server up to that of the last line, its later answers, and its exit code.

    An item that is a function is called instead of sent, with a function that waits for the answer with an id.
    """
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command("mcp"), env=env or environment(), cwd=folder, **streams) as server:
        answers = []

        def wait_for(id):
            while not answers or answers[-1].get("id") != id:
                answers.append(json.loads(server.stdout.readline()))

        for line in (HELLO, *lines):
            if callable(line):
                line(wait_for)
                continue
            server.stdin.write(f"{line}\n".encode("utf-8", "surrogateescape"))
            server.stdin.flush()
        wait_for(json.loads(lines[-1])["id"])
        rest, stderr = server.communicate()
    assert stderr == b""
    return answers, [json.loads(line) for line in rest.splitlines()], server.returncode


def first_line(answer):
    """Return whether the answer to a call is an error, and the first line of its text."""
    return answer["result"]["isError"], answer["result"]["content"][0]["text"].partition("\n")[0]


def test_mcp_answers_every_json_line_with_its_id():
    table = [(line, *expected.split()) for line, expected in rows("mcp_lines.txt")]
    silent = [request("nothing"), '{"jsonrpc":"2.0","id":4,"result":{}}', ""]
    calls = [tool_call(id, "reshape", **SIX) for id in range(10, 15)]
    answers, late, code = exchange(*silent, *(line for line, _, _ in table), *calls, PING)
    codes = [(json.dumps(reply["id"]), str(reply.get("error", {}).get("code", "-"))) for reply in answers + late]
    others = [(str(id), "-") for id in (0, 9, *range(10, 15))]
    assert sorted(codes) == sorted([*others, *((id, error) for _, id, error in table)])
    assert code == 0
    assert all(answer.get("error", {}).get("message", "").isprintable() for answer in answers)


def test_mcp_ping_is_answered_during_a_call(tmp_path):
    answers, (late,), code = exchange(tool_call(1, "doctor", message="x"), PING, **slow_server(tmp_path, 1))
    assert ([answer["id"] for answer in answers], late["id"], code) == ([0, 9], 1, 0)
    assert first_line(late) == (True, "usage: the call took longer than 1 seconds (ask for less at once)")


def test_mcp_cancelled_call_and_crash_are_reported(tmp_path):
    def wait_for_call(_):
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)

    cancel = [request("notifications/cancelled", requestId=id) for id in (1, 2)]
    slow = [tool_call(id, "doctor", message="x") for id in (1, 2)]
    others = tool_call(3, "model", file="x"), tool_call(4, "compare"), tool_call(5, "reshape", **SIX)
    answers, late, code = exchange(*slow, wait_for_call, *cancel, *others, **slow_server(tmp_path))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    hello, fault, death, last = sorted(answers + late, key=lambda answer: answer["id"])
    assert [answer["id"] for answer in (hello, fault, death, last)] == [0, 3, 4, 5]
    assert matches_expected("fault: ZeroDivisionError: by zero (shapecalc.cli.mcp:...", f"{first_line(fault)[1]}\n")
    assert matches_expected("fault: the process of this call has died; please report...", f"{first_line(death)[1]}\n")
    assert (first_line(fault)[0], first_line(death)[0], first_line(last), code) == (True, True, (False, "6"), 0)


NOTED_PROCESS = """
import os
import shapecalc.cli.mcp as served
run_doctor = served._run_doctor
def note(arguments, folder):
    (folder / "pid").write_text(str(os.getpid()))
    return run_doctor(arguments, folder)
served._run_doctor = note
"""
"""Code that writes the process of the last call of a tool to a file."""


def test_mcp_killed_idle_process_is_replaced(tmp_path):
    def kill_after(id):
        def kill(wait_for):
            wait_for(id)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

        return kill

    server = slow_server(tmp_path)
    (tmp_path / "site" / "sitecustomize.py").write_text(NOTED_PROCESS)
    message = "shape '[5, 5]' is invalid for input of size 24"
    calls = [step for id in (1, 2, 3) for step in (tool_call(id, "doctor", message=message), kill_after(id))]
    answers, late, code = exchange(*calls[:-1], tool_call(4, "reshape", **SIX), **server)
    replies = {answer["id"]: first_line(answer) for answer in answers + late if answer["id"]}
    assert (code, [replies[id][0] for id in (1, 2, 3, 4)]) == (0, [False] * 4)


# Streams, folders and missing packages


def test_mcp_imports_no_module_of_the_agents_folder(tmp_path):
    for name in ("anyio", "json", "pickle", "runpy", "shapecalc"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    words = [sys.executable, "-P", "-m", "shapecalc", "mcp"]
    ran = run_program(
        words, cwd=tmp_path, input=f"{HELLO}\n{tool_call(1, 'reshape', **SIX)}\n".encode(), capture_output=True
    )
    assert first_line(json.loads(ran.stdout.splitlines()[-1])) == (False, "6")
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("<&-", 4, "shapecalc: stdin: it is closed\n"),
        ("< /dev/null >&-", 4, "shapecalc: stdout: it is closed\n"),
        (
            '> /dev/full <<< \'{"jsonrpc":"2.0","id":9,"method":"ping"}\'',
            4,
            "shapecalc: mcp: no space left on device\n",
        ),
    ],
)
def test_mcp_closed_or_full_stream_is_exit_4(line, code, message):
    if "full" in line and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    ran = run_program(["bash", "-c", f'"{sys.executable}" -m shapecalc mcp {line}'], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", message)


def test_mcp_missing_package_names_what_to_install():
    code = "import sys; sys.modules['mcp'] = None; from shapecalc.__main__ import main; sys.exit(main())"
    ran = run_program([sys.executable, "-c", code, "mcp"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (4, "")
    assert matches_expected("shapecalc: mcp: mcp is not installed; ...", ran.stderr)
