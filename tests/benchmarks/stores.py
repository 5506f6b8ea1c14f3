"""How fast a store is carried out, against a plain copy of the same store and against Dask's own way, in one run.

All three run on the same two worker processes. It prints the median of the ratios of each turn, the tasks, the bytes
decoded for each byte of data, and the most private memory of a worker beyond what it held before.

Run it from a checkout: `python -m tests.benchmarks.stores [FOLDER] [MIB]`. It needs room for four such stores there.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import dask.array as da
import numpy as np
import zarr

from shapecalc.core.asking.command_line import read_chain
from shapecalc.core.fixing.answer import answer_chain
from shapecalc.engine.stores.carrying import carry_job, plan_job
from shapecalc.engine.stores.clusters import cluster_at
from shapecalc.engine.stores.reads import boxes_of
from tests.cli.test_clusters import Watch

TURNS = 3
MEMORY = 256 << 20
CHUNKS = (128, 128, 128)
OPS = {
    "transpose": ("transpose 2,1,0", lambda x, _: x.transpose(2, 1, 0)),
    "merge": ("reshape -1,256", lambda x, n: x.reshape(n * 512, 256)),
    "heads": ("transpose 0,2,1 | reshape 0,-1", lambda x, n: x.transpose(0, 2, 1).reshape(n, -1)),
    "Shuffle": ("shuffle --first 2,0,1 --to -1,512,512 --second 1,0,2", None),
}


def copied(source, target, box):
    """Copy a box of a store to another one."""
    place = tuple([slice(*span) for span in box])
    zarr.open_array(target, mode="r+")[place] = zarr.open_array(source, mode="r")[place]


def plain_copy(client, source, target, chunks):
    """Copy a store chunk by chunk."""
    array = zarr.open_array(str(source), mode="r")
    zarr.create_array(
        str(target), shape=array.shape, chunks=chunks, dtype=array.dtype, compressors=array.compressors, overwrite=True
    )
    steps = (min(array.shape[0], 4 * chunks[0]), *chunks[1:])
    boxes = list(boxes_of(array.shape, steps))
    client.gather(client.map(partial(copied, str(source), str(target)), boxes, pure=False))


def by_dask(move, rows, source, target, chunks):
    """Let Dask do it."""
    move(da.from_zarr(str(source)), rows).rechunk(chunks).to_zarr(str(target), overwrite=True)


def seconds(work):
    begin = perf_counter()
    work()
    return perf_counter() - begin


def measure(cluster, folder, name, rows):
    source, target = folder / "x.zarr", folder / "y.zarr"
    chain, move = OPS[name]
    answer = answer_chain(*read_chain(f"{rows},512,256 | {chain}"), {})
    job = plan_job(answer, str(source), MEMORY, 1)
    found, chunks = {"copy": [], "own": [], "dask": []}, job.plan.passes[-1].chunks
    with Watch(cluster.client.run(os.getpid).values()) as watch:
        for _ in range(TURNS):
            shutil.rmtree(target, ignore_errors=True)
            run = partial(carry_job, job, target, cluster.run, int, force=False, resume=False)
            found["own"].append(seconds(run))
            found["copy"].append(seconds(partial(plain_copy, cluster.client, source, folder / "c.zarr", CHUNKS)))
    for _ in range(TURNS if move else 0):
        found["dask"].append(seconds(partial(by_dask, move, rows, source, folder / "d.zarr", chunks)))
    ratios = {
        each: statistics.median([a / b for a, b in zip(found["own"], found[each], strict=True)])
        for each in ("copy", "dask")
        if found[each]
    }
    told = "  ".join(f"{ratio:.2f} of {each}" for each, ratio in ratios.items())
    read = job.plan.read / job.plan.written
    print(
        f"{name:10} {statistics.median(found['own']):6.2f} s  {told:32} {job.plan.tasks} tasks  read {read:.2f}"
        f"  {watch.most >> 20} MiB of {job.memory >> 20} promised",
        flush=True,
    )


def main(folder: Path, mib: int) -> None:
    rows = mib * 2
    made = zarr.create_array(str(folder / "x.zarr"), shape=(rows, 512, 256), chunks=CHUNKS, dtype="f4", overwrite=True)
    draw = np.random.default_rng(0)
    for start in range(0, rows, CHUNKS[0]):
        stop = min(start + CHUNKS[0], rows)
        made[start:stop] = draw.integers(0, 1000, (stop - start, 512, 256)).astype("f4")
    print(f"{mib} MiB, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with cluster_at("local:2") as cluster:
        for name in OPS:
            measure(cluster, folder, name, rows)


if __name__ == "__main__":
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=words[0] if words else None) as scratch:
        main(Path(scratch), int(words[1]) if len(words) > 1 else 512)
