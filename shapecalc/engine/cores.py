"""How many cores this process may use: those it is bound to, and no more than its control group pays for."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = Path("/sys/fs/cgroup")
"""Where Linux shows its control groups."""


def count_cores() -> int:
    """Return how many cores this process may use, at least one.

    Sources: sched_getaffinity(2); the kernel's documents of control groups, `cpu.max` and `cpu.cfs_quota_us`.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(bound, _paid()))


@cache
def _paid() -> int:
    """Return how many cores' time the process and the groups around it are given, rounded up."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []  # a system without control groups
    return paid_cores(lines, GROUPS)


def paid_cores(lines: list[str], groups: Path) -> int:
    """Return how many cores' time the groups in the lines of `/proc/self/cgroup` are given; many if there is no limit.

    Of nested groups the tightest limit holds.
    """
    limits = [limit for line in lines for folder in _folders(line, groups) for limit in _limits(folder)]
    return min(limits, default=1 << 16)


def _folders(line: str, groups: Path) -> Iterator[Path]:
    """Yield the folders of a line's group and of those around it; version 2 has one tree, version 1 one for `cpu`."""
    _, controllers, name = line.split(":", 2)
    if controllers and "cpu" not in controllers.split(","):
        return
    root = groups / "cpu" if controllers else groups
    folder = root / name.lstrip("/")
    yield from (folder, *folder.parents[: len(folder.parts) - len(root.parts)])


def _limits(folder: Path) -> Iterator[int]:
    """Yield the limit of one group, in either version, if it has one."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            quota, period = " ".join((folder / name).read_text() for name in names).split()
        except (OSError, ValueError):
            continue  # this group says nothing in this version
        if quota.isdigit() and period.isdigit() and int(period):
            yield max(1, -(-int(quota) // int(period)))
