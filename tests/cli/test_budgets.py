"""Hostile requests: each is answered, or refused in one line that names a limit. It is judged by how it ends, not when.

The processes have a bound of CPU time and of memory as a net: what runs into it is killed, and that is no answer.
"""

from __future__ import annotations

import json
import random
import subprocess

import pytest

from shapecalc.core.limits import LIMITS
from tests.cli.conftest import command, environment

resource = pytest.importorskip("resource", reason="the net is one of Unix")
SECONDS, BYTES = 20, 1 << 30
"""What a process may take, far more than a question does."""


def row(*parts, between=","):
    return between.join(map(str, parts))


def names(count, letter="A"):
    return row(*(f"{letter}{place}" for place in range(count)))


TURNS, MIXES, ROLLS = (
    " | transpose",
    " | transpose | reshape 60,40",
    " | roll --shift 1 --axis 0 | reshape 40,60 | transpose",
)
TWOS, ZEROS = row(*["2"] * 40), row(*["0"] * 39, "-1")
NEW = "".join(f" | reshape B{place},-1" for place in range(300))
CASES = [
    (["film", "chain", f"8,16,4,4{TURNS * 8}", "-o", "x.gif"], "", 0),
    (["film", "chain", f"8,16,4,4{TURNS * 12}", "-o", "x.gif"], "", "film-pictures"),
    (["film", "chain", f"8,16,4,4{TURNS * 200}", "-o", "x.html"], "", "film-stages"),
    (["reshape", TWOS, ZEROS, "--explain"], "", 0),
    (["reshape", TWOS, ZEROS, "--explain=all"], "", 0),
    (["reshape", names(300), row(*["0"] * 250, "-1"), "--json"], "", 0),
    (["reshape", names(300), row(*["0"] * 250, "Z", "-1"), "--json"], "", 0),
    (["reshape", names(1001), "-1"], "", "names"),
    (["reshape", "2,3", "6", "--where", f"N={'9' * 31}"], "", 2),
    (["reshape", "9" * 5000, "-1"], "", "digits"),
    (["reshape", "[" * 20_000 + "2" + "]" * 20_000, "-1"], "", 2),
    (["reshape", "-", "-1"], "2," * 70_000 + "2", "dims"),
    (["reshape", "-", "-1"], "2," * 600_000 + "2", "line"),
    (["simplify", f"2,3{TURNS * 9000}"], "", "stages"),
    (["simplify", f"60,40{MIXES * 499}"], "", 0),
    (["simplify", f"{names(100)}{TURNS * 300}"], "", "chain-names"),
    (["equiv", f"2,3{TURNS * 9000}", TURNS], "", "stages"),
    (["equiv", f"60,40{MIXES * 499}", MIXES * 499], "", 0),
    (["equiv", f"N,M{ROLLS.replace('40,60', 'M,N') * 300}", TURNS * 2], "", {0, 1, 3}),
    (["chain", f"60,40{MIXES * 499}", "--json"], "", 0),
    (["chain", f"60,40{MIXES * 499}", "--explain"], "", 0),
    (["chain", f"60,40{MIXES * 499}", "--values"], "", 0),
    (["chain", f"60,40{ROLLS * 300}", "--json"], "", 0),
    (["chain", f"N,M{NEW}"], "", "chain-names"),
    (["chain", f"2{' | unsqueeze --axes 0' * 999}"], "", "chain-dims"),
    (["find", row(*["2"] * 20), row(*["4"] * 10)], "", 0),
    (["find", row(*["2"] * 60), row(*["4"] * 30)], "", 0),
    (["find", row(*["1"] * 400, "2"), row("2", *["1"] * 300)], "", 0),
    (["check", "-"], f"2,3{TURNS * 80_000}\n", "stages"),
    (["check", "-"], "reshape " + "1," * 5_000_000 + "2 -1\n", "line"),
    (["check", "-"], "reshape N,3 -1 => 3*N when " + " and ".join(["N is 1"] * 5000), "conditions"),
    (["check", "-"], f"2,3 | x.reshape({'(' * 20_000}6{')' * 20_000})\n", 2),
    (["check", "-"], f"reshape {names(1001)} -1\n", "names"),
    (["doctor"], "RuntimeError: shape '[" + "1, " * 3_000_000, 1),
    (["doctor"], "[" * 20_000_000, 1),
]


def run(words, stdin, folder):
    """Return how a process ends, which is killed if it runs into the net."""

    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    return subprocess.run(
        command(*words),
        input=stdin,
        env=environment() | {"OPENBLAS_NUM_THREADS": "1"},
        cwd=folder,
        text=True,
        capture_output=True,
        check=False,
        preexec_fn=bound,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("words", "stdin", "end"), CASES, ids=[f"{at}-{case[0][0]}" for at, case in enumerate(CASES)])
def test_it_is_answered_or_a_limit_is_named(words, stdin, end, tmp_path):
    ran = run(words, stdin, tmp_path)
    said = ran.stdout if words[0] == "check" or "--json" in words else ran.stderr
    if isinstance(end, str):
        assert end in LIMITS
        assert (ran.returncode, f"the limit '{end}' is {int(LIMITS[end])}" in said) == (2, True), said[-300:]
        assert ran.stderr.count("\n") <= 1
    else:
        assert ran.returncode in (end if isinstance(end, set) else {end}), ran.stderr[-300:]
    assert "Traceback" not in ran.stderr


def test_a_header_beyond_its_limit_is_a_file_that_cannot_be_used(tmp_path):
    length = LIMITS["safetensors-header"] + 1
    with (tmp_path / "x.safetensors").open("wb") as file:
        file.write(length.to_bytes(8, "little"))
        file.truncate(length + 8)
    ran = run(["reshape", "x.safetensors:a", "-1"], "", tmp_path)
    assert ran.returncode == 4
    assert "the limit 'safetensors-header' is" in ran.stderr


STAGES = ("transpose", "reshape N,M", "reshape M,N", "flip --axes 0", "roll --shift 1 --axis 0", "squeeze", "flatten")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_drawn_chains_end(seed, tmp_path):
    draw = random.Random(seed)
    chain = "N,M | " + " | ".join(draw.choice(STAGES) for _ in range(draw.choice((30, 300, 900))))
    for words in (["chain", chain, "--json"], ["simplify", chain], ["equiv", chain, f"| {chain[6:]}"]):
        ran = run(words, "", tmp_path)
        assert ran.returncode in {0, 1, 2, 3}, (words[0], ran.stderr[-300:])
        assert "Traceback" not in ran.stderr
        assert words[-1] != "--json" or json.loads(ran.stdout)
