"""The reproducible sample of slow tests that `-m "not slow"` runs.

`examples` limits Hypothesis tests. The sample contains `SAMPLE_ROWS` rows of a parametrized test, eight rows of a test
with the mark `@pytest.mark.sampled(8)`, and eight tests of a file with `pytestmark = pytest.mark.sessions(8)`.
`each_row` combines many fast rows into one test, and `some_and_rest` divides the rows of a test that loops over them.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, settings

SAMPLE_EXAMPLES = 6
"""The number of examples of each Hypothesis test in the sample, which is derandomized."""
SAMPLE_ROWS = 20
"""The default number of rows of each test in the sample."""
PARAM = type(pytest.param())


def load_profile(*, sample, seed=None):
    """Load the Hypothesis profile for the sample or for all tests.

    The profile has no deadline. Without a seed, it is derandomized.
    """
    usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "derandomize": seed is None}
    settings.register_profile("whole", settings.default, **usual)
    settings.register_profile("sample", settings.get_profile("whole"), max_examples=SAMPLE_EXAMPLES, derandomize=True)
    settings.load_profile("sample" if sample else "whole")


def examples(many):
    """Mark a Hypothesis test as slow and run it on `many` examples.

    In the sample, the test is not slow and runs on `SAMPLE_EXAMPLES` examples.
    """
    if settings.default.max_examples == SAMPLE_EXAMPLES:
        return settings()
    return lambda law: pytest.mark.slow(settings(max_examples=many)(law))


def draw_sample(test_name, rows, count):
    """Return `count` random rows; the name of the test is the seed."""
    return Random(test_name).sample(rows, min(count, len(rows)))


def some_and_rest(rows, count, test_name=None):
    """Divide rows into a sample and a slow remainder, as params of a test that loops over them.

    If the sample contains all rows, there is only one param.
    """
    kept = {*draw_sample(test_name or str(rows), range(len(rows)), count)}
    parts = [[row for index, row in enumerate(rows) if (index in kept) is some] for some in (True, False)]
    params = [pytest.param(parts[0], id="some"), pytest.param(parts[1], id="rest", marks=pytest.mark.slow)]
    return params if parts[1] else params[:1]


def each_row(names, rows):
    """Run a test function on all rows as one test, and report every failing or skipped row.

    Parametrizing the test would cost 3 ms per row. The sample runs some of the rows.
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
        return pytest.mark.parametrize("part", some_and_rest(rows, SAMPLE_ROWS, test.__name__))(run)

    return decorate


def mark_slow(items):
    """Mark parametrized tests and the tests of files with the mark `sessions` as slow, except a sample.

    The sample does not depend on the order of `items`. Tests that are already marked as slow are not in the sample.
    """
    quick = sorted((item for item in items if not item.get_closest_marker("slow")), key=lambda item: item.nodeid)
    for separator, marker, most in (("[", "sampled", SAMPLE_ROWS), ("::", "sessions", len(items))):
        groups: dict[str, list[pytest.Item]] = {}
        for item in quick:
            groups.setdefault(item.nodeid.partition(separator)[0], []).append(item)
        for name, rows in groups.items():
            mark = rows[0].get_closest_marker(marker)
            kept = {id(row) for row in draw_sample(name, rows, mark.args[0] if mark else most)}
            for row in rows:
                if id(row) not in kept:
                    row.add_marker("slow")
