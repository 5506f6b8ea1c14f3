"""`shapecalc mcp`, driven by the package's own client over standard input and output, hostile calls included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import split

import numpy
import pytest

from shapecalc.cli.mcp import agent_tools
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.limits import LARGEST_ANSWER
from shapecalc.core.ops import OPS, params_of
from tests.cli.conftest import ROOT, command, environment
from tests.models import detector

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.sessions(9)

SIX = {"input": "2,3", "target": "6"}
MESSAGE = "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600"
ELSEWHERE = "it is not in the folder that the server was started in"


@asynccontextmanager
async def session(folder, errors):
    """Yield a client of a server that is started in a folder."""
    program, *words = command("mcp")
    server = StdioServerParameters(command=program, args=words, cwd=folder, env=environment())
    async with stdio_client(server, errors) as streams, ClientSession(*streams) as client:
        await client.initialize()
        yield client


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """Return a function that calls a tool of one server, which has arrays and links in and around its folder."""
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
    told = outer / "stderr"
    with (
        told.open("w") as errors,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(session(folder, errors)) as client,
    ):
        yield lambda name, **given: portal.call(client.call_tool, name, given)
    assert told.read_text() == ""


@pytest.fixture(scope="module")
def refusal(agent):
    """Return a function that calls a tool and returns the one line with which it refuses."""

    def refused(name, **given):
        answer = agent(name, **given)
        assert (answer.is_error, answer.structured_content, len(answer.content)) == (True, None, 1)
        assert answer.content[0].text.isprintable()
        assert len(answer.content[0].text) < 300
        return answer.content[0].text

    return refused


def test_an_op_answers_with_its_reasons_and_the_json_of_the_command_line(agent, shapecalc):
    answer = agent("reshape", input=[2, 3, 4], target=[0, -1])
    assert not answer.is_error
    assert answer.content[0].text.startswith("2,12\nonnx Reshape 25, allowzero off\n")
    assert "-1 is 24 elements (2*3*4) / 2 known = 12  [infer]" in answer.content[0].text
    assert answer.structured_content == json.loads(shapecalc("reshape", "2,3,4", "0,-1", "--json").out)


PATTERN = "b c (h p) -> b h (p c)"
SAME = [
    ("shuffle", {"input": "2,3,4", "first": "1,0,2", "to": [2, -1, 3]}, "2,3,4 --first 1,0,2 --to 2,-1,3"),
    ("reshape", {"input": ["N", 4], "target": "2,6"}, "N,4 2,6"),
    ("reshape", {"input": "N,4", "target": "-1", "where": {"N": 3}}, "N,4 -1 --where N=3"),
    ("reshape", {"input": "0,3", "target": [3, 0], "allowzero": True}, "0,3 3,0 --allowzero"),
    ("squeeze", {"input": [1, 3, 1], "axes": 0, "dialect": "torch", "dtype": "half"}, "1,3,1 0 -d pt --dtype half"),
    ("reshape", {"input": "2,3,4", "target": "5,-1", "opset": 13}, "2,3,4 5,-1 --opset 13"),
    ("chain", {"chain": "2,3 | transpose | reshape 0,-1", "opset": 9}, "'2,3 | transpose | reshape 0,-1' --opset 9"),
    ("upsample", {"input": "1,3,4,4", "scale": 2}, "1,3,4,4 2"),
    ("rearrange", {"input": "B,C,H", "pattern": PATTERN, "lengths": "p=7"}, f"B,C,H '{PATTERN}' p=7"),
]


@pytest.mark.parametrize(("name", "given", "line"), SAME, ids=[name for name, _, _ in SAME])
def test_what_is_asked_as_json_is_what_is_asked_in_words(name, given, line, agent, shapecalc):
    assert agent(name, **given).structured_content == json.loads(shapecalc(name, *split(line), "--json").out)


def test_a_refused_request_is_an_answer(agent):
    answer = agent("reshape", input="2,3,4", target="5,-1")
    assert not answer.is_error
    assert answer.content[0].text.startswith("refused: indivisible: 24 elements")
    assert answer.structured_content["problem"]["rule"] == "indivisible"


def test_compare_asks_ops_and_chains(agent, shapecalc):
    asked = {"op": "reshape", "input": "0,3", "arguments": {"target": "3,0"}, "dialects": ["onnx", "numpy"]}
    answer = agent("compare", **asked)
    assert answer.content[0].text.startswith("the dialects differ\n")
    by_words = shapecalc("compare", "0,3", "3,0", "-d", "onnx", "-d", "numpy", "--json")
    assert answer.structured_content == json.loads(by_words.out)
    chain = "2,3 | transpose | reshape 0,-1"
    by_words = shapecalc("compare", "chain", chain, "--json")
    assert agent("compare", chain=chain).structured_content == json.loads(by_words.out)


def test_a_model_is_judged_as_by_the_command(agent, shapecalc, monkeypatch, tmp_path):
    monkeypatch.chdir(detector.write(tmp_path / "yolo.onnx").parent)
    answer = agent("model", file="yolo.onnx", node="/head.0/Reshape_1")
    words = ("model", "yolo.onnx", "--node", "/head.0/Reshape_1")
    assert answer.content[0].text == shapecalc(*words).out.rstrip("\n")
    assert answer.structured_content == json.loads(shapecalc(*words, "--json").out)
    every = agent("model", file="yolo.onnx").structured_content
    assert [node["verdict"] for node in every["nodes"]] == ["swallows", "swallows", "only", "only"]
    for file in ("../secret.onnx", "nothing.onnx", "pipe.npy", "."):
        refused = agent("model", file=file)
        assert refused.is_error
        assert "\n" not in refused.content[0].text


def test_doctor_reads_a_message(agent, shapecalc):
    answer = agent("doctor", message=MESSAGE)
    assert answer.content[0].text == shapecalc("doctor", stdin=MESSAGE).out.rstrip("\n")
    assert answer.structured_content["messages"] == json.loads(shapecalc("doctor", "--json", stdin=MESSAGE).out)
    assert agent("doctor", message="").content[0].text.startswith("not known to me (paste ")


@pytest.mark.parametrize(
    ("name", "shape"),
    [("x.npy", [2, 3, 4]), ("./up/project/x.npy", [2, 3, 4]), ("near.npy", [2, 3, 4]), ("w.npz:a", [5, 6])],
)
def test_files_in_the_folder_are_inputs(name, shape, agent):
    assert agent("flatten", input=name, axis=0).structured_content["input"] == shape
    assert agent("chain", chain=f"{name} | flatten").structured_content["input"] == shape
    compared = agent("compare", op="flatten", input=name, arguments={}).structured_content
    assert compared["input"] == shape


OUTSIDE = ["../secret.npy", "link.npy", "up/secret.npy", "/dev/zero.npy", "loop.npy", "a\0.npy", "/proc/self/mem.npz:a"]


@pytest.mark.parametrize("name", OUTSIDE, ids=ascii)
def test_no_file_outside_the_folder_is_read_by_any_tool(name, refusal):
    refused = [
        refusal("reshape", input=name, target="-1"),
        refusal("compare", op="reshape", input=name, arguments={"target": "-1"}),
        refusal("chain", chain=f"{name} | flatten"),
        refusal("compare", chain=f"{name} | flatten"),
    ]
    assert {*refused} == {f"file: {ascii(name.partition(':')[0])[1:-1]}: {ELSEWHERE}"}


@pytest.mark.parametrize("name", ["pipe.npy", "missing.npy", "w.npz:b", "up.npz", ".npy"])
def test_a_file_that_cannot_be_used_is_one_line(name, refusal):
    assert refusal("reshape", input=name, target="-1").startswith(f"file: {name}: ")


DEEP = []
for _ in range(50):
    DEEP = [DEEP]
WRONG = [
    ("nothing", {}, "there is no tool 'nothing'"),
    ("reshape", {}, "reshape needs input"),
    ("reshape", {"input": "2,3"}, "reshape needs target"),
    ("reshape", {"input": "2,3", "target": None}, "reshape needs target"),
    ("reshape", {"input": "-", "target": "6"}, "'-' is not allowed in '-'"),
    ("reshape", {"input": 6, "target": "6"}, "input is a sequence of dims, not 6"),
    ("reshape", {"input": {"N": 1}, "target": "6"}, ""),
    ("reshape", {"input": [2, 3.5], "target": "6"}, "a dim is a whole number or a name, not 3.5"),
    ("reshape", {"input": DEEP, "target": "6"}, "a dim is a whole number or a name"),
    ("reshape", {"input": "2,3", "target": {"a": 1}}, ""),
    ("reshape", {"input": "2,3", "target": "6", "dialect": ["onnx"]}, "there is no dialect"),
    ("reshape", {"input": "2,3", "target": "6", "opset": "x"}, "opset is one whole number"),
    ("reshape", {"input": "2,3", "target": "6", "opset": 10**400}, "onnx knows the opsets"),
    ("reshape", {"input": "2,3", "target": "6", "dtype": {"a": 1}}, "onnx knows no element type"),
    ("reshape", {"input": "2,3", "target": "6", "allowzero": "yes"}, "allowzero is 0 or 1"),
    ("reshape", {"input": "2,3", "target": "6", "where": 5}, "sizes are text or a mapping"),
    ("reshape", {"input": "2,3", "target": "6", "explain": True}, "reshape takes no 'explain'"),
    ("reshape", {"input": "2,\x1b[31m3\u202e", "target": "6"}, "'\\x1b' is not allowed in"),
    ("reshape", {"input": "2,3", "target": "6", "\x1b[2J" * 99: 1}, "reshape takes no '\\x1b[2J"),
    ("reshape", {"input": "2," * 600_000, "target": "6"}, "input is longer than 1048576"),
    ("reshape", {"input": [1] * 70_000, "target": "6"}, "input is longer than 65536"),
    ("transpose", {"input": "2,3", "perm": "["}, "[ is never closed"),
    ("rearrange", {"input": "2,3", "pattern": 7}, "pattern is a text"),
    ("depth_to_space", {"input": "1,8,2,3", "block": 2, "mode": "x"}, "mode is DCR or CRD"),
    ("chain", {"chain": ["2,3"]}, "chain is a text"),
    ("chain", {"chain": "2,3"}, "a chain is a text with an input and stages"),
    ("chain", {"chain": "2,3 | system 'ls'"}, "there is no operation 'system'"),
    ("chain", {"chain": "2,3 |" + "(" * 100_000}, ""),
    ("chain", {"chain": "2,3 | reshape 6", "special_zero": True}, "onnx Reshape has no special_zero"),
    ("compare", {}, "compare needs an op"),
    ("compare", {"op": "no", "input": "2", "arguments": {}}, "there is no operation 'no'"),
    ("compare", {"op": "reshape", "input": "2", "arguments": [1]}, "compare needs an op"),
    ("compare", {"op": "reshape", "input": "2", "arguments": {"target": "2", "dialect": "onnx"}}, "compare asks under"),
    ("compare", {"chain": "2,3 | flatten", "dialects": "onnx"}, "dialects are a list of names"),
    ("compare", {"chain": "2,3 | flatten", "dialects": [7]}, "dialects are a list of names"),
    ("doctor", {}, "doctor needs message"),
    ("doctor", {"message": [MESSAGE]}, "message is a text"),
    ("model", {}, "model needs file"),
    ("model", {"file": 7}, "file is a text"),
    ("model", {"file": "yolo.onnx", "node": 7}, "node is a text"),
    ("model", {"file": "yolo.onnx", "node": "/Nobody"}, "no listed node is called '/Nobody'"),
    ("model", {"file": "yolo.onnx", "batch": "N,1"}, "the batch is judged at two sizes or more"),
]


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("name", "given", "said"), WRONG, ids=[f"{name} {said}"[:50] for name, _, said in WRONG])
def test_a_call_that_cannot_be_read_is_one_line(name, given, said, refusal, agent):
    line = refusal(name, **given)
    assert line.startswith("usage: ")
    assert said in line
    assert agent("shape", input="2,3").content[0].text.startswith("2,3\n")


def test_schemas_have_the_parameters_of_the_command_line():
    tools = agent_tools()
    assert [*tools] == [*OPS, "chain", "compare", "doctor", "model"]
    for op in OPS.values():
        schema = tools[op.name].schema
        names = {"input", *(param.name for param in params_of(op)), "dialect", "opset", "dtype", "where"}
        assert names <= {*schema["properties"]}
        assert {*schema["required"]} == {"input", *(param.name for param in op.params if param.required)}
        assert {*schema["properties"]["dialect"]["enum"]} <= {*DIALECTS}
        assert all(each["description"] for each in schema["properties"].values())


def test_a_client_is_told_the_tools(tmp_path):
    async def listed():
        with (tmp_path / "stderr").open("w") as errors:
            async with session(tmp_path, errors) as client:
                return (await client.list_tools()).tools

    import anyio

    told = anyio.run(listed)
    assert {tool.name: tool.input_schema for tool in told} == {
        name: tool.schema for name, tool in agent_tools().items()
    }
    assert all(tool.annotations.read_only_hint for tool in told)


def test_it_takes_no_defaults(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.shapecalc]\ndialect = 'torhc'\n")
    monkeypatch.chdir(tmp_path)
    answer = agent_tools()["reshape"].called({"input": "2,3", "target": "6"}, tmp_path)
    assert answer.json["dialect"] == "onnx"


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


SLOW = """
import os, time
import shapecalc.cli.mcp as served
def sleep(given, folder):
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(600)
def fail(given, folder):
    raise ZeroDivisionError("by zero")
served._answer_doctor, served._answer_model, served._answer_compare = sleep, fail, lambda *_: os._exit(1)
served.LONGEST_CALL = int(os.environ["SECONDS"])
"""
"""What makes the tools of a server slow, wrong and deadly."""


def slow_server(folder, seconds=60):
    """Return the environment of a server with such tools, and with so many seconds for a call."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(SLOW)
    return {**environment(), "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{ROOT}", "SECONDS": str(seconds)}


def asked(id, name, **given):
    params = {"name": name, "arguments": given}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def sent(*lines, folder=ROOT, env=None):
    """Return what a server answers to lines until it answers the last one, what else it prints, and its exit code.

    A line may be a function, which is called in its place.
    """
    first = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command("mcp"), env=env or environment(), cwd=folder, **streams) as server:
        for line in (first, *lines):
            if callable(line):
                line()
                continue
            server.stdin.write(f"{line}\n".encode("utf-8", "surrogateescape"))
            server.stdin.flush()
        answers = []
        while not answers or answers[-1].get("id") != json.loads(lines[-1])["id"]:
            answers.append(json.loads(server.stdout.readline()))
        rest, told = server.communicate()
    return answers, rest + told, server.returncode


PING = '{"jsonrpc":"2.0","id":9,"method":"ping"}'
START = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"doctor","arguments":{"message":'
UNREAD = [
    (START + '"cut \\ud83d"}}}', 7, None),
    (START + '"whole \\ud83d\\ude00, \\\\ud83d"}}}', 7, None),
    (START + "9" * 5000 + "}}}", None, -32700),
    (START + "[" * 2000 + "]" * 2000 + "}}}", None, -32700),
    ('{"jsonrpc":"2.0","id":"\\ud83d","method":7}', "?", -32600),
    (START + "NaN}}}", 7, None),
    (START, None, -32700),
    (START + "\udcff", None, -32700),
    (f"\ufeff{PING}".replace("9", "8"), 8, None),
    ('{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
    ('{"jsonrpc":"2.0","id":7}', 7, -32600),
    ('{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7, -32600),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
    ('{"jsonrpc":"2.0","id":' + "1" * 5000 + ',"method":"ping"}', None, -32700),
    (f"[{PING}]", None, -32600),
    ("gar\x1b[31mbage", None, -32700),
    ("\udcff", None, -32700),
    ('{"a": 1}', None, -32600),
    ("[" * 100_000, None, -32700),
]


def test_every_line_is_answered_with_its_id_if_it_is_json():
    messages = ['{"jsonrpc":"2.0","method":"nothing"}', '{"jsonrpc":"2.0","id":4,"result":{}}', ""]
    lines = [line for line, _, _ in UNREAD]
    answers, rest, code = sent(*messages, *lines, PING, asked(10, "reshape", **SIX))
    answers += map(json.loads, rest.splitlines())
    found = [(answer["id"], answer.get("error", {}).get("code")) for answer in answers]
    expected = [(id, code) for _, id, code in UNREAD]
    assert sorted(found, key=str) == sorted([(0, None), *expected, (9, None), (10, None)], key=str)
    assert code == 0
    assert all(answer.get("error", {}).get("message", "").isprintable() for answer in answers)


def test_a_ping_is_answered_while_a_call_runs_which_ends_when_its_time_is_up(tmp_path):
    answers, rest, code = sent(asked(1, "doctor", message="x"), PING, folder=tmp_path, env=slow_server(tmp_path, 1))
    assert ([answer["id"] for answer in answers], code) == ([0, 9], 0)
    late = json.loads(rest)
    text = "usage: the call took longer than 1 seconds (ask for less at once)"
    assert (late["id"], late["result"]["isError"], late["result"]["content"][0]["text"]) == (1, True, text)


def test_a_call_that_is_cancelled_ends_and_makes_room_for_the_next(tmp_path):
    def wait():
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.01)

    cancel = [f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}' for id in (1, 2)]
    slow = [asked(id, "doctor", message="x") for id in (1, 2)]
    quick = asked(3, "reshape", **SIX)
    answers, rest, code = sent(*slow, wait, *cancel, quick, folder=tmp_path, env=slow_server(tmp_path))
    assert ([answer["id"] for answer in answers], rest, code) == ([0, 3], b"", 0)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_fault_and_a_death_are_told_and_the_next_call_is_answered(tmp_path):
    lines = asked(1, "model", file="x"), asked(2, "compare"), asked(3, "reshape", **SIX)
    answers, rest, code = sent(*lines, folder=tmp_path, env=slow_server(tmp_path))
    while len(answers) < 4:
        line, _, rest = rest.partition(b"\n")
        answers.append(json.loads(line))
    _, fault, death, last = sorted(answers, key=lambda answer: answer["id"])
    assert "fault: ZeroDivisionError: by zero (shapecalc.cli.mcp:" in fault["result"]["content"][0]["text"]
    assert death["result"]["content"][0]["text"].startswith("fault: the process of this call has died; please report")
    assert fault["result"]["isError"]
    assert death["result"]["isError"]
    assert (last["result"]["content"][0]["text"].partition("\n")[0], rest, code) == ("6", b"", 0)


def test_an_answer_that_is_too_large_is_refused(refusal):
    line = refusal("chain", chain="2,3,4,5,6,7,8" + " | transpose" * 1000)
    assert f"characters, and the limit 'agent-answer' is {int(LARGEST_ANSWER)}" in line


def test_what_is_asked_before_the_end_is_answered():
    lines = [asked(id, "reshape", **SIX) for id in range(1, 6)]
    answers, rest, code = sent(*lines, PING)
    late = [json.loads(line) for line in rest.splitlines()]
    assert (sorted(answer["id"] for answer in answers + late), code) == ([0, 1, 2, 3, 4, 5, 9], 0)


def test_no_module_of_the_agents_folder_is_imported(tmp_path):
    for name in ("anyio", "json", "pickle", "runpy", "shapecalc"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    program = [sys.executable, "-P", "-m", "shapecalc", "mcp"]
    lines = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}), asked(1, "reshape", **SIX)
    given = "".join(f"{line}\n" for line in lines).encode()
    ran = subprocess.run(program, env=environment(), cwd=tmp_path, input=given, capture_output=True, check=False)
    assert json.loads(ran.stdout.splitlines()[-1])["result"]["content"][0]["text"].startswith("6\n")
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("mcp <&-", "stdin: it is closed"),
        ("mcp < /dev/null >&-", "stdout: it is closed"),
        ("mcp < /dev/null", None),
    ],
)
def test_a_stream_that_is_closed_is_exit_4_and_an_agent_that_has_gone_is_none(line, told):
    program = ["bash", "-c", f'"{sys.executable}" -m shapecalc {line}']
    ran = subprocess.run(program, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == ((4, "", f"shapecalc: {told}\n") if told else (0, "", ""))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_answer_that_cannot_be_written_is_exit_4():
    with (
        open("/dev/full", "wb") as full,
        subprocess.Popen(command("mcp"), env=environment(), stdin=-1, stdout=full, stderr=-1) as server,
    ):
        server.stdin.write(f"{PING}\n".encode())
        server.stdin.flush()
        assert (server.stderr.read(), server.wait()) == (b"shapecalc: mcp: No space left on device\n", 4)


def test_without_the_package_it_says_what_to_install():
    code = "import sys; sys.modules['mcp'] = None; from shapecalc.__main__ import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", code, "mcp"], env=environment(), cwd=ROOT, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (4, b"", 1)
    assert ran.stderr.startswith(b"shapecalc: mcp: mcp is not installed; ")
