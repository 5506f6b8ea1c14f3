"""Jobs from store to store: the output equals NumPy's, and the rest of the metadata is unchanged."""

from __future__ import annotations

import json
import os
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.problem import error_reason
from shapecalc.core.record import replace
from shapecalc.engine.arrays import FileError
from shapecalc.engine.stores import jobs
from shapecalc.engine.stores.jobs import find_first_difference, plan_job, run_job
from shapecalc.engine.stores.plan import StorePlan, choose_row_chunks
from shapecalc.engine.stores.store_io import compute_source_digest, open_store
from shapecalc.engine.stores.workers import make_thread_runner
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from tests.engine.drawing import draw_chain
from tests.numpy_moves import apply_with_numpy

zarr = pytest.importorskip("zarr", reason="zarr is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")

TYPES = ["u1", "<f2", ">i4", "f8", "c16", "<M8[s]", "S3"]
FORMATS = {
    "2": {"zarr_format": 2},
    "2 in Fortran order": {"zarr_format": 2, "order": "F"},
    "3": {"zarr_format": 3},
    "3 uncompressed": {"zarr_format": 3, "compressors": None},
    "3 in shards": {"zarr_format": 3, "sharded": True},
}


@pytest.fixture
def x(tmp_path):
    """Return the path of the source store; the output is in the same folder."""
    return tmp_path / "x.zarr"


def create_store(path, array, chunks, fill_value=0, sharded=False, **options):
    """Write an array as a Zarr store."""
    if sharded:
        options["shards"] = tuple([2 * chunk for chunk in chunks])
    if array.dtype.kind in "SM":
        fill_value = None
    kept = {"shape": array.shape, "dtype": array.dtype, "chunks": chunks, "fill_value": fill_value}
    store = zarr.create_array(str(path), **kept, **options)
    store[...] = array
    return store


def elements(kind, shape):
    return (np.arange(np.prod(shape, dtype=int)) % 251 + 1).astype("i8").astype(kind).reshape(shape)


def answer_to(chain):
    return chain if not isinstance(chain, str) else answer_chain(*parse_chain(chain), {})


def run_to_store(job, target, run=None, tick=int, force=False, resume=False):
    run_job(job, target, run or make_thread_runner(job.threads), tick, force=force, resume=resume)


def run_chain(chain, source, name="y.zarr", memory=1 << 28, threads=2, chunks=None, **options):
    """Run a chain from a store to a second one, and return the array of that."""
    target = source.parent / name
    run_to_store(plan_job(answer_to(chain), str(source), memory, threads, chunks), target, **options)
    return zarr.open_array(str(target), mode="r")


def difference(chain, source, memory=1 << 24):
    return find_first_difference(answer_to(chain), str(source), str(source.with_name("y.zarr")), "all", memory, int)


@pytest.mark.parametrize("seed", range(45))
@pytest.mark.sampled(5)
def test_store_chain_equals_numpy(seed, x):
    random = Random(seed)
    shape = tuple([random.choice([1, 2, 3, 4, 6]) for _ in range(random.randint(0, 5))])
    array, answer = elements(random.choice(TYPES), shape), draw_chain(random, shape, without=("scattered", "empty"))
    kind = random.choice([*FORMATS]) if shape else "3"
    create_store(x, array, tuple([random.randint(1, size) for size in shape]), **FORMATS[kind])
    found = run_chain(answer, x)
    assert found.dtype == zarr.open_array(str(x)).dtype
    np.testing.assert_array_equal(found[...], apply_with_numpy(array, answer.moves))
    assert difference(answer, x) is None


@pytest.mark.parametrize(
    "chain",
    [
        "8 | roll 6 0 | reshape 4,2 | flip 1 | slice 1:4",
        "8 | roll 4 0 | slice 6:1:-1 | slice 1:4 | slice 0:1:2",
        "2,6 | reshape 12,1 | roll 4 0 | reshape 4,3 | slice [:, 2:0:-1] | slice 3:0:-1",
    ],
)
def test_store_slice_of_a_roll_equals_numpy(chain, x):
    answer = answer_to(chain)
    array = elements("i4", answer.input)
    create_store(x, array, (2,) * array.ndim)
    np.testing.assert_array_equal(run_chain(answer, x)[...], apply_with_numpy(array, answer.moves))


@pytest.mark.parametrize("kind", FORMATS)
def test_store_keeps_codecs_attributes_fill_value_and_version(kind, x):
    source = create_store(x, elements("f4", (4, 6, 8)), (2, 3, 4), 7, attributes={"a": [1]}, **FORMATS[kind])
    found = run_chain("4,6,8 | transpose 2,0,1 | reshape 0,-1", x)
    assert (found.metadata.zarr_format, found.fill_value, found.order) == (source.metadata.zarr_format, 7, source.order)
    assert (found.compressors, found.filters, found.attrs.asdict()) == (source.compressors, source.filters, {"a": [1]})
    assert (found.shards is None) == (source.shards is None)


def test_store_dimension_names_follow_surviving_axes(x):
    create_store(x, elements("f4", (4, 6, 8)), (2, 3, 4), dimension_names=["a", "b", "c"])
    assert run_chain("4,6,8 | transpose 2,0,1 | reshape 0,-1", x).metadata.dimension_names == ("c", None)
    old, names = x.with_name("old.zarr"), "_ARRAY_DIMENSIONS"
    create_store(old, elements("f4", (4, 6)), (2, 3), zarr_format=2, attributes={names: ["a", "b"]})
    assert run_chain("4,6 | transpose 1,0", old, "new.zarr").attrs[names] == ["b", "a"]


@pytest.mark.parametrize("shape", ["0,3", "3,0,2"])
@pytest.mark.parametrize("chunk", [None, 2])
def test_store_empty_arrays_use_requested_chunks(shape, chunk, x):
    sizes = tuple(map(int, shape.split(",")))
    create_store(x, np.empty(sizes, "f4"), (1,) * len(sizes))
    found = run_chain(f"{shape} | transpose", x, chunks=chunk and (chunk,) * len(sizes))
    assert found.shape == sizes[::-1]
    assert found.chunks == tuple([chunk or max(1, size) for size in sizes[::-1]])


@pytest.mark.parametrize(("name", "chunks"), [("x.npy", None), ("x.h5:/group/data", (2, 2, 5)), ("x.h5:/plain", None)])
def test_store_reads_npy_and_hdf5_with_their_chunks(name, chunks, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    array = elements("f4", (6, 4, 5))
    np.save(tmp_path / "x.npy", array)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("group/data", data=array, chunks=(2, 2, 5), compression="gzip")
        file.create_dataset("plain", data=array)
    assert open_store(str(tmp_path / name)).chunks == (chunks or choose_row_chunks(array.shape, 4))
    one, two = (plan_job(sc.transpose((6, 4, 5), (2, 0, 1)), str(tmp_path / name), 1 << 28, count) for count in (1, 2))
    assert (one.worker_memory - one.plan.task_memory) == two.worker_memory - 2 * two.plan.task_memory > 0
    run_to_store(one, tmp_path / "y.zarr")
    found = zarr.open_array(str(tmp_path / "y.zarr"), mode="r")
    np.testing.assert_array_equal(found[...], array.transpose(2, 0, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["u1", "f4", "c16"])
@pytest.mark.parametrize("chunks", [None, (150, 140, 100), (40, 140, 130)])
def test_store_fills_large_chunks_in_tiles(kind, chunks, x):
    array = np.arange(130 * 140 * 150).astype(kind).reshape(130, 140, 150)
    create_store(x, array, (65, 70, 75), compressors=None)
    np.testing.assert_array_equal(run_chain("130,140,150 | transpose 2,1,0", x, chunks=chunks)[...], array.T)


def test_store_verification_names_a_difference(x):
    create_store(x, elements("f4", (4, 6)), (2, 3))
    run_chain("4,6 | transpose 1,0", x)
    zarr.open_array(str(x.with_name("y.zarr")), mode="r+")[5, 1] = 99
    found = difference("4,6 | transpose 1,0", x)
    assert (found.index, found.actual, found.expected) == ((5, 1), "99.0", "12.0")


def test_store_verification_stays_within_memory(x, monkeypatch):
    create_store(x, elements("f4", (16, 16)), (2, 2))
    run_chain("16,16 | transpose 1,0", x, chunks=(2, 2))
    readers, reader = [], jobs._ChunkReader
    monkeypatch.setattr(jobs, "_ChunkReader", lambda *words: readers.append(reader(*words)) or readers[-1])
    assert difference("16,16 | transpose 1,0", x, memory=10 * 16) is None
    assert [each.read_chunk.cache_info().currsize for each in readers] == [5, 5]


def test_store_checksum_failure_is_reported_and_resumable(x):
    create_store(x, elements("f4", (4, 6)), (2, 3), compressors=[zarr.codecs.Crc32cCodec()])
    chunk = x / "c" / "1" / "1"
    chunk.write_bytes(b"\xff" + chunk.read_bytes()[1:])
    with pytest.raises(FileError, match=r"x\.zarr: .*checksum.*start again.*rm -r"):
        run_chain("4,6 | transpose 1,0", x)
    assert not x.with_name("y.zarr").exists()
    assert (x.with_name("y.zarr.part") / "manifest.json").exists()


def test_store_of_the_same_name_is_reopened(x):
    for shape, chain in (((4, 6), "4,6 | transpose 1,0"), ((2, 3, 4), "2,3,4 | transpose 2,0,1")):
        create_store(x, elements("f4", shape), (1,) * len(shape), overwrite=True)
        found = run_chain(chain, x, force=True)
    assert found.shape == (4, 2, 3)


def test_store_chunk_of_fill_values_has_no_file(x):
    array = np.full((4, 8), 7, "f4")
    array[0, 5] = 1
    create_store(x, array, (2, 4), fill_value=7)
    np.testing.assert_array_equal(run_chain("4,8 | transpose 1,0", x, chunks=(4, 2))[...], array.T)
    y = x.with_name("y.zarr")
    assert [path.relative_to(y).as_posix() for path in y.rglob("c/*/*")] == ["c/1/0"]


# Resume interrupted jobs.


@pytest.fixture
def source(x):
    """Return a store of 6,4 in six chunks."""
    create_store(x, elements("f4", (6, 4)), (2, 2), compressors=None)
    return x


def job_by_chunks(source, shape=(6, 4)):
    """Return the job of a transpose with a task for each chunk of two elements of the output."""
    job = plan_job(sc.transpose(shape), str(source), 1 << 28, 1, (1, 2))
    (only,) = job.plan.passes
    return replace(job, plan=StorePlan((replace(only, task_shape=only.chunks),)))


def failing_runner(after):
    """Return a runner that does `after` tasks and then fails."""

    def run(work, numbers):
        yield from islice(make_thread_runner(1)(work, numbers), after)
        raise AssertionError

    return run


def interrupt_job(source):
    """Interrupt a job after seven tasks; return it and the output."""
    job, target = job_by_chunks(source), source.with_name("y.zarr")
    with pytest.raises(FileError, match=r"y\.zarr: AssertionError; mend it and go on with --resume"):
        run_to_store(job, target, failing_runner(7))
    return job, target


def rewrite(file):
    """Overwrite a file and restore its times."""
    before = file.stat()
    file.write_bytes(file.read_bytes()[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip_byte(file):
    found = file.read_bytes()
    file.write_bytes(bytes([found[0] ^ 1]) + found[1:])


CHANGES = {
    "other bytes with the times of before": rewrite,
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"0"),
    "touched": partial(os.utime, times=(0, 0)),
    "gone": Path.unlink,
    "renamed": lambda file: file.rename(file.with_name("9")),
    "one more": lambda file: file.with_name("9").write_bytes(b"0"),
    "one more that is linked": lambda file: file.with_name("9").symlink_to(file),
}
DAMAGE = {
    "cut in half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "a bit": flip_byte,
    "longer": CHANGES["longer"],
    "gone": Path.unlink,
    "another chunk": lambda file: file.write_bytes(file.with_name("1").read_bytes()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_store_resume_refuses_a_rechunked_source(change, source):
    job, target = interrupt_job(source)
    assert job.source_digest == compute_source_digest(str(source))
    CHANGES[change](source / "c" / "0" / "1")
    with pytest.raises(FileError, match="its source is another"):
        run_to_store(job_by_chunks(source), target, resume=True)
    assert not target.exists()


@pytest.mark.parametrize("changed", ["x.npy", "x.zarr/c/0/1"])
def test_store_source_changed_during_reading_is_reported(changed, source):
    np.save(source.with_name("x.npy"), elements("f4", (6, 4)))
    job = plan_job(sc.transpose((6, 4)), str(source.parent / changed.split("/c/")[0]), 1 << 28, 1)
    with pytest.raises(FileError, match="changed while it was read"):
        run_to_store(job, source.with_name("y.zarr"), tick=lambda _: rewrite(source.parent / changed))
    assert not source.with_name("y.zarr").exists()


def test_store_counts_linked_folders_once(source):
    linked = source.with_name("c")
    (source / "c").rename(linked)
    (source / "c").symlink_to(linked)
    before = compute_source_digest(str(source))
    rewrite(linked / "0" / "1")
    for name in "abc":
        (linked / name).symlink_to(linked)
    assert compute_source_digest(str(source)) != before


@pytest.mark.parametrize("damage", DAMAGE)
def test_store_resume_rewrites_only_the_damaged_chunk(damage, source):
    job, target = interrupt_job(source)
    chunks = sorted((source.with_name("y.zarr.part") / "0.array.zarr" / "c").glob("*/*"))
    times = [each.stat().st_mtime_ns for each in chunks]
    DAMAGE[damage](chunks[0])
    counts = []
    run_to_store(job, target, tick=counts.append, resume=True)
    np.testing.assert_array_equal(zarr.open_array(str(target))[...], elements("f4", (6, 4)).T)
    assert (len(chunks), counts) == (7, [0, 6 * 8, *[8] * 6])
    kept = sorted((target / "c").glob("*/*"))[1:7]
    assert [each.stat().st_mtime_ns for each in kept] == times[1:]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.pop("format of records"), "its format of records is another"),
        (lambda found: found.update(shapecalc="0.1"), "its shapecalc is another"),
        (lambda found: found["source"].pop(), "its source is another"),
    ],
)
def test_store_resume_refuses_another_version(change, said, source):
    job, target = interrupt_job(source)
    manifest = source.with_name("y.zarr.part") / "manifest.json"
    found = json.loads(manifest.read_text())
    change(found)
    manifest.write_text(json.dumps(found))
    with pytest.raises(FileError, match=said):
        run_to_store(job, target, resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [0, 1])
def test_store_resume_uses_the_undamaged_pass(damaged, x):
    array, target = elements("f4", (512, 64, 256)), x.with_name("y.zarr")
    create_store(x, array, (64, 32, 256))
    job = plan_job(answer_to("512,64,256 | transpose 2,1,0 | reshape 0,-1"), str(x), 36 << 20, 1)
    assert len(job.plan.passes) == 2
    second = []

    def run(work, numbers):
        second.append(work.source)
        return (make_thread_runner(1) if len(second) == 1 else failing_runner(2))(work, numbers)

    with pytest.raises(FileError, match="AssertionError"):
        run_to_store(job, target, run)
    folder = x.with_name("y.zarr.part") / f"{damaged}.array.zarr" / "c"
    DAMAGE["cut in half"](next(each for each in folder.rglob("*") if each.is_file()))
    run_to_store(job, target, resume=True)
    np.testing.assert_array_equal(zarr.open_array(str(target))[...], array.transpose(2, 1, 0).reshape(256, -1))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (AssertionError(), "AssertionError"),
        (ValueError(" \n"), "ValueError"),
        (OSError(), "OSError"),
        (MemoryError(), "it takes more memory than there is, or than --memory allows"),
        (OSError(28, "No space left on device"), "no space left on device"),
        (RuntimeError("it is\nso."), "it is so"),
    ],
)
def test_store_failure_reason_is_one_line(error, reason):
    assert error_reason(error) == reason
