"""What `-m "not slow"` leaves: of every law that takes long, a sample with a seed, and never none of it.

`examples` are for laws that Hypothesis draws. Of a test with many rows `MOST_ROWS` are left, of a test that is marked
`@pytest.mark.sampled(8)` eight. `pytestmark = pytest.mark.sessions(8)` is for files of whole sessions, of which it
leaves eight tests. `each_row` makes one test of rows that take less time than a test, and `some_and_rest` is for a
test that goes through its rows itself.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, settings

FEW = 6
"""Examples of a law in the sample; they are the same ones every time."""
MOST_ROWS = 20
"""Rows of a test in the sample, if it does not say how many."""
PARAM = type(pytest.param())


def load_profile(*, sample, seed=None):
    """Have Hypothesis time nothing, draw the same examples every time unless there is a seed, and few for a sample."""
    usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "derandomize": seed is None}
    settings.register_profile("whole", settings.default, **usual)
    settings.register_profile("sample", settings.get_profile("whole"), max_examples=FEW, derandomize=True)
    settings.load_profile("sample" if sample else "whole")


def examples(many):
    """Have a law meet `many` examples and be slow; in the sample it meets a few, and is not."""
    if settings.default.max_examples == FEW:
        return settings()
    return lambda law: pytest.mark.slow(settings(max_examples=many)(law))


def drawn(law, rows, count):
    """Return `count` of the rows of a law, another draw for each law and the same at all times."""
    return Random(law).sample(rows, min(count, len(rows)))


def some_and_rest(rows, count, law=None):
    """Return params for a test that goes through rows in one go: some of them, and the rest if any, which is slow."""
    kept = {*drawn(law or str(rows), range(len(rows)), count)}
    parts = [[row for place, row in enumerate(rows) if (place in kept) is some] for some in (True, False)]
    params = [pytest.param(parts[0], id="some"), pytest.param(parts[1], id="rest", marks=pytest.mark.slow)]
    return params if parts[1] else params[:1]


def each_row(names, rows):
    """Have one test go through rows, as many tests would, and tell every row that is wrong, or why some are left out.

    A test takes 3 ms beside what it does. In the sample it goes through some of the rows.
    """
    names, one = ((names,), True) if isinstance(names, str) else (names, False)
    rows = [row.values if isinstance(row, PARAM) else (row,) if one else row for row in rows]
    assert rows, "a test without rows says nothing"

    def made(test):
        @functools.wraps(test)
        def run(part, **fixtures):
            wrong, skipped = [], []
            for row in part:
                try:
                    test(**fixtures, **dict(zip(names, row, strict=True)))
                except pytest.skip.Exception as left_out:
                    skipped.append(left_out.msg)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"The row: {row!r}")
                    wrong.append(error)
            if wrong:
                raise BaseExceptionGroup(f"{len(wrong)} of {len(part)} rows are wrong", wrong)
            if skipped:
                reasons = (f"{number} of {len(part)} rows: {reason}" for reason, number in Counter(skipped).items())
                pytest.skip("; ".join(reasons))

        signature = inspect.signature(test)
        part = inspect.Parameter("part", inspect.Parameter.KEYWORD_ONLY)
        others = [each for name, each in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=[*others, part])
        return pytest.mark.parametrize("part", some_and_rest(rows, MOST_ROWS, test.__name__))(run)

    return made


def mark_slow(items):
    """Mark the rows of tests, and the tests of files of `sessions`, as slow, but for some.

    Which ones stay does not depend on the order of `items`. What is slow anyway is not drawn from.
    """
    quick = sorted((item for item in items if not item.get_closest_marker("slow")), key=lambda item: item.nodeid)
    for separator, marker, most in (("[", "sampled", MOST_ROWS), ("::", "sessions", len(items))):
        groups: dict[str, list[pytest.Item]] = {}
        for item in quick:
            groups.setdefault(item.nodeid.partition(separator)[0], []).append(item)
        for name, rows in groups.items():
            mark = rows[0].get_closest_marker(marker)
            kept = {id(row) for row in drawn(name, rows, mark.args[0] if mark else most)}
            for row in rows:
                if id(row) not in kept:
                    row.add_marker("slow")
