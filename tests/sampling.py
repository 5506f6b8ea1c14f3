"""The sample of slow tests that `-m "not slow"` runs: reproducible, and never empty.

`examples` is for Hypothesis tests. Of a test with many rows, `MOST_ROWS` are in the sample, of a test that is marked
`@pytest.mark.sampled(8)` eight. Of a file with `pytestmark = pytest.mark.sessions(8)`, eight tests are. `each_row`
makes one test of rows that each take less time than a test; `some_and_rest` is for a test that loops over its rows.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, settings

FEW = 6
"""The number of Hypothesis examples in the sample; they are derandomized."""
MOST_ROWS = 20
"""The default number of rows of a test in the sample."""
PARAM = type(pytest.param())


def load_profile(*, sample, seed=None):
    """Load the Hypothesis profile: no deadline, derandomized without a seed, few examples for the sample."""
    usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "derandomize": seed is None}
    settings.register_profile("whole", settings.default, **usual)
    settings.register_profile("sample", settings.get_profile("whole"), max_examples=FEW, derandomize=True)
    settings.load_profile("sample" if sample else "whole")


def examples(many):
    """Run a Hypothesis test on `many` examples and mark it slow; in the sample, on a few and unmarked."""
    if settings.default.max_examples == FEW:
        return settings()
    return lambda law: pytest.mark.slow(settings(max_examples=many)(law))


def draw_sample(law, rows, count):
    """Return `count` of the rows, drawn with the name of the test as seed."""
    return Random(law).sample(rows, min(count, len(rows)))


def some_and_rest(rows, count, law=None):
    """Return two params of a test that loops over its rows: a sample, and the slow rest, if any."""
    kept = {*draw_sample(law or str(rows), range(len(rows)), count)}
    parts = [[row for index, row in enumerate(rows) if (index in kept) is some] for some in (True, False)]
    params = [pytest.param(parts[0], id="some"), pytest.param(parts[1], id="rest", marks=pytest.mark.slow)]
    return params if parts[1] else params[:1]


def each_row(names, rows):
    """Make one test of all rows, which reports every failing row, and the reasons of skipped ones.

    A parametrized test costs 3 ms a row. The sample runs some of the rows.
    """
    names, one = ((names,), True) if isinstance(names, str) else (names, False)
    rows = [row.values if isinstance(row, PARAM) else (row,) if one else row for row in rows]
    assert rows, "a test without rows checks nothing"

    def decorate(test):
        @functools.wraps(test)
        def run(part, **fixtures):
            failures, skipped = [], []
            for row in part:
                try:
                    test(**fixtures, **dict(zip(names, row, strict=True)))
                except pytest.skip.Exception as skip:
                    skipped.append(skip.msg)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"The row: {row!r}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(part)} rows are wrong", failures)
            if skipped:
                reasons = (f"{number} of {len(part)} rows: {reason}" for reason, number in Counter(skipped).items())
                pytest.skip("; ".join(reasons))

        signature = inspect.signature(test)
        part = inspect.Parameter("part", inspect.Parameter.KEYWORD_ONLY)
        others = [parameter for name, parameter in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=[*others, part])
        return pytest.mark.parametrize("part", some_and_rest(rows, MOST_ROWS, test.__name__))(run)

    return decorate


def mark_slow(items):
    """Mark all rows of tests, and all tests of files marked `sessions`, as slow, except a sample.

    The sample does not depend on the order of `items`, and contains no test that is slow already.
    """
    quick = sorted((item for item in items if not item.get_closest_marker("slow")), key=lambda item: item.nodeid)
    for separator, marker, most in (("[", "sampled", MOST_ROWS), ("::", "sessions", len(items))):
        groups: dict[str, list[pytest.Item]] = {}
        for item in quick:
            groups.setdefault(item.nodeid.partition(separator)[0], []).append(item)
        for name, rows in groups.items():
            mark = rows[0].get_closest_marker(marker)
            kept = {id(row) for row in draw_sample(name, rows, mark.args[0] if mark else most)}
            for row in rows:
                if id(row) not in kept:
                    row.add_marker("slow")
