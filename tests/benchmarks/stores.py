"""Measure chains on stores against a plain copy, Dask, and the codec alone, in one run.

All run in turns on the same two worker processes, each after the writes of the others are on disk. The codec alone
decodes and encodes each chunk once and writes nothing, which is a lower bound. Printed are the medians of the ratios
of each turn, in wall time and in CPU time of the workers, the tasks, the bytes decoded for each byte of data, and the
peak of additional private memory of a worker.

Run it from a checkout: `python -m tests.benchmarks.stores [FOLDER] [MIB] [CODEC]`. It needs space for four such stores.
The codec is `zstd`, the default of Zarr, `lz4` or `none`.
"""

from __future__ import annotations

import os
import shutil
import statistics
from functools import partial
from pathlib import Path
from time import perf_counter

import dask.array as da
import numpy as np
import zarr

from shapecalc.engine.stores.jobs import plan_job, run_job
from shapecalc.engine.stores.regions import iter_grid_cells
from shapecalc.engine.stores.store_io import open_store, run_codec_loop
from shapecalc.engine.stores.workers import open_cluster
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from tests.benchmarks.harness import in_turns, memory, scratch, used_seconds, with_memory

TURNS = 5
MEMORY = 256 << 20
CHUNKS = (128, 128, 128)
OPS = {
    "transpose": ("transpose 2,1,0", lambda x, _: x.transpose(2, 1, 0)),
    "merge": ("reshape -1,256", lambda x, n: x.reshape(n * 512, 256)),
    "heads": ("transpose 0,2,1 | reshape 0,-1", lambda x, n: x.transpose(0, 2, 1).reshape(n, -1)),
    "Shuffle": ("shuffle --first 2,0,1 --to -1,512,512 --second 1,0,2", None),
}
CODECS = {"zstd": "auto", "lz4": zarr.codecs.BloscCodec(cname="lz4"), "none": None}


def copy_box(source, target, box):
    """Copy a box of a store to another store."""
    index = tuple([slice(*span) for span in box])
    zarr.open_array(target, mode="r+")[index] = zarr.open_array(source, mode="r")[index]


def plain_copy(client, source, target, chunks, codec):
    """Copy a store chunk by chunk."""
    array = zarr.open_array(str(source), mode="r")
    options = {"shape": array.shape, "dtype": array.dtype, "chunks": chunks, "compressors": CODECS[codec]}
    zarr.create_array(str(target), overwrite=True, **options)
    boxes = list(iter_grid_cells(array.shape, (min(array.shape[0], 4 * chunks[0]), *chunks[1:])))
    client.gather(client.map(partial(copy_box, str(source), str(target)), boxes, pure=False))


def run_dask(move, rows, source, target, chunks, codec):
    """Apply a move with Dask."""
    moved = move(da.from_zarr(str(source)), rows).rechunk(chunks)
    moved.to_zarr(str(target), overwrite=True, compressors=CODECS[codec])


def recode_box(source, box):
    """Decode and encode a chunk of a store."""
    chunks = open_store(source).reader
    with run_codec_loop():
        chunks._encode(chunks[[slice(*span) for span in box]])


def recode_all(client, source):
    """Decode and encode each chunk of a store."""
    boxes = list(iter_grid_cells(zarr.open_array(str(source), mode="r").shape, CHUNKS))
    client.gather(client.map(partial(recode_box, str(source)), boxes, pure=False))


def measure_work(work, processes):
    """Return the wall time of `work`, the CPU time of the workers, and the peak of additional memory of one in KiB."""
    before = [memory(process, "RssAnon") for process in processes]
    start, used = perf_counter(), sum(map(used_seconds, processes))
    _, most = with_memory(work, processes, "RssAnon")
    seconds = perf_counter() - start, sum(map(used_seconds, processes)) - used
    return *seconds, max(peak - first for peak, first in zip(most, before, strict=True))


def measure(cluster, folder, name, rows, codec):
    source, target = folder / "x.zarr", folder / "y.zarr"
    chain, move = OPS[name]
    answer = answer_chain(*parse_chain(f"{rows},512,256 | {chain}"), {})
    job = plan_job(answer, str(source), MEMORY, 1)
    chunks, workers = job.plan.passes[-1].chunks, [*cluster.client.run(os.getpid).values()]
    ways = {
        "own": partial(run_job, job, target, cluster.run_tasks, int, force=False, resume=False),
        "copy": partial(plain_copy, cluster.client, source, folder / "c.zarr", CHUNKS, codec),
        "codec": CODECS[codec] and partial(recode_all, cluster.client, source),
        "dask": move and partial(run_dask, move, rows, source, folder / "d.zarr", chunks, codec),
    }

    def turn(way):
        shutil.rmtree(target, ignore_errors=True)
        os.sync()
        return measure_work(way, workers)

    results = in_turns(TURNS, {name: partial(turn, way) for name, way in ways.items() if way})
    most = max(kibibytes for _, _, kibibytes in results["own"])
    ratios = ""
    for other in [way for way in results if way != "own"]:
        pairs = [*zip(results["own"], results[other], strict=True)]
        wall, used = (statistics.median(a[kind] / b[kind] for a, b in pairs) for kind in (0, 1))
        ratios += f"  {wall:.2f} of {other} ({used:.2f})"
    seconds, plan = statistics.median(wall for wall, *_ in results["own"]), job.plan
    print(
        f"{name:10} {seconds:6.2f} s{ratios:64}  {plan.task_count} tasks"
        f"  read {plan.bytes_read / plan.bytes_written:.2f}  {most >> 10} MiB of {job.worker_memory >> 20} promised",
        flush=True,
    )


def main(folder: Path, mib: int, codec: str) -> None:
    rows = mib * 2
    options = {"shape": (rows, 512, 256), "dtype": "f4", "chunks": CHUNKS, "compressors": CODECS[codec]}
    array = zarr.create_array(str(folder / "x.zarr"), **options)
    draw = np.random.default_rng(0)
    for start in range(0, rows, CHUNKS[0]):
        stop = min(start + CHUNKS[0], rows)
        array[start:stop] = draw.integers(0, 1000, (stop - start, 512, 256)).astype("f4")
    print(f"{mib} MiB, {codec}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with open_cluster("local:2", MEMORY, print) as cluster:
        for name in OPS:
            measure(cluster, folder, name, rows, codec)


if __name__ == "__main__":
    with scratch() as (folder, arguments):
        main(folder, int(arguments[0]) if arguments else 512, arguments[1] if len(arguments) > 1 else "zstd")
