"""Logs of messages that all differ: the first of them are answered, and nothing is compared with everything."""

from __future__ import annotations

from shapecalc.doctor import reading
from shapecalc.doctor.reading import readings


def test_of_a_log_of_nothing_but_messages_the_first_are_read(monkeypatch):
    reads = []
    whole = reading._reading
    monkeypatch.setattr(reading, "_reading", lambda *args: reads.append(1) or whole(*args))
    log = "".join(f"ValueError: cannot reshape array of size {at} into shape (7,{at})\n" for at in range(11, 20_011))
    found = readings(log)
    assert [each.elements for each in found] == [*range(11, 11 + reading.MOST_READ)]
    assert len(reads) == reading.MOST_READ


def test_messages_about_something_else_do_not_hide_one_about_a_shape():
    other = "".join(f"step {at}: ValueError: operands could not be broadcast together {at}\n" for at in range(1000))
    (found,) = readings(other + "ValueError: cannot reshape array of size 24 into shape (5,5)\n")
    assert found.cause == "count-mismatch"
