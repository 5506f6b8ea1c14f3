"""Stores carried to stores: the output is NumPy's, and all that does not change is as it was."""

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
from shapecalc.core.commands import read_chain
from shapecalc.core.fixing import answer_chain
from shapecalc.core.ops import OPS
from shapecalc.core.record import replace
from shapecalc.engine.arrays import FileError
from shapecalc.engine.headers import reason_of
from shapecalc.engine.stores import carrying
from shapecalc.engine.stores.carrying import carry_job, first_difference, plan_job
from shapecalc.engine.stores.plan import Plan
from shapecalc.engine.stores.stores import state_of
from shapecalc.engine.stores.workers import on_threads
from tests.view.questions import COMBINING

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


def made(path, array, chunks, fill_value=0, sharded=False, **options):
    """Write an array as a Zarr store."""
    if sharded:
        options["shards"] = tuple([2 * chunk for chunk in chunks])
    if array.dtype.kind in "SM":
        fill_value = None
    store = zarr.create_array(
        str(path), shape=array.shape, dtype=array.dtype, chunks=chunks, fill_value=fill_value, **options
    )
    store[...] = array
    return store


def carried(chain, source, target, memory=1 << 28, threads=2, **options):
    """Carry a chain out on a store, and return its answer."""
    answer = answer_chain(*read_chain(chain), {})
    job = plan_job(answer, str(source), memory, threads, options.pop("chunks", None))
    carry_job(job, Path(target), on_threads(threads), int, **{"force": False, "resume": False, **options})
    return answer


def elements(kind, shape):
    count = int(np.prod(shape))
    return (np.arange(count) % 251 + 1).astype("i8").astype(kind).reshape(shape)


def divided(random, count):
    """Draw sizes whose product is a count."""
    sizes = [1] * random.randint(0, 1)
    while count > 1:
        sizes.append(random.choice([size for size in range(2, count + 1) if count % size == 0]))
        count //= sizes[-1]
    random.shuffle(sizes)
    return tuple(sizes) or (1,)


def listed(numbers):
    return ",".join(map(str, numbers)) or "[]"


def permuted(random, array):
    perm = random.sample(range(array.ndim), array.ndim)
    return f"transpose {listed(perm)}", array.transpose(perm)


def reshaped(random, array, op="reshape"):
    sizes = divided(random, array.size)
    return f"{op} {listed(sizes)}", array.reshape(sizes)


def shuffled(random, array):
    first, sizes = random.sample(range(array.ndim), array.ndim), divided(random, array.size)
    second = random.sample(range(len(sizes)), len(sizes))
    words = f"shuffle --first {listed(first)} --to {listed(sizes)} --second {listed(second)}"
    return words, array.transpose(first).reshape(sizes).transpose(second)


def sliced(random, array):
    kept = []
    for size in array.shape:
        step, at = random.choice([1, 1, 1, -1, 2, -2, 3]), random.randint(0, size - 1)
        kept.append(slice(random.choice([None, at]), None, step))
    words = [f"{'' if each.start is None else each.start}::{each.step}" for each in kept]
    return f"slice {','.join(words) or '[]'}", array[tuple(kept)]


def flipped(random, array):
    axes = random.sample(range(array.ndim), random.randint(0, array.ndim))
    return f"flip {listed(axes)}", np.flip(array, axes)


def tiled(random, array):
    repeats = [random.choice([1, 1, 2]) for _ in array.shape]
    return f"tile {listed(repeats)}", np.tile(array, repeats)


def rearranged(random, array):
    names = "abcdefgh"[: array.ndim]
    moved = random.sample(names, array.ndim)
    cut = random.randint(0, array.ndim)
    pattern = " ".join([*moved[:cut], f"({' '.join(moved[cut:])})"] if cut < array.ndim else moved)
    perm = [names.index(name) for name in moved]
    shape = [array.shape[axis] for axis in perm[:cut]] + ([-1] if cut < array.ndim else [])
    return f"rearrange '{' '.join(names)} -> {pattern}'", array.transpose(perm).reshape(shape)


def on_an_axis(random, array, op):
    axis, other = random.randint(0, array.ndim - 1), random.randint(0, array.ndim - 1)
    size = array.shape[axis]
    parts = random.choice([part for part in range(1, size + 1) if size % part == 0])
    index, sizes = random.randint(0, size - 1), (parts, size // parts)
    part = random.randint(0, parts - 1)
    places = range(size)[:: random.choice([1, 2, -1])]
    said, found = {
        "select": (f"{axis} {index}", lambda: array.take(index, axis)),
        "take": (f"{axis} {listed(places)}", lambda: array.take(places, axis)),
        "roll": (f"{index} {axis}", lambda: np.roll(array, index, axis)),
        "split": (f"{axis} {parts} --part {part}", lambda: np.split(array, parts, axis)[part]),
        "swapaxes": (f"{axis} {other}", lambda: np.swapaxes(array, axis, other)),
        "moveaxis": (f"{axis} {other}", lambda: np.moveaxis(array, axis, other)),
        "unsqueeze": (f"{axis}", lambda: np.expand_dims(array, axis)),
        "unflatten": (
            f"{axis} {listed(sizes)}",
            lambda: array.reshape(array.shape[:axis] + sizes + array.shape[axis + 1 :]),
        ),
        "flatten": (f"--axis {axis}", lambda: array.reshape(int(np.prod(array.shape[:axis])), -1)),
    }[op]
    return f"{op} {said}", found()


def blocks_moved(_, array, op):
    """Fit the array to images, and move blocks between channels and places."""
    count = array.size
    if count % 4:
        return "reshape -1", array.reshape(-1)
    if op == "depth_to_space":
        moved = array.reshape(1, 2, 2, count // 4, 1, 1).transpose(0, 3, 4, 1, 5, 2)
        return f"reshape 1,{count},1,1 | {op} 2", moved.reshape(1, count // 4, 2, 2)
    moved = array.reshape(1, count // 4, 1, 2, 1, 2).transpose(0, 3, 5, 1, 2, 4)
    return f"reshape 1,{count // 4},2,2 | {op} 2", moved.reshape(1, count, 1, 1)


AXIS_OPS = ("select", "roll", "split", "swapaxes", "moveaxis", "unsqueeze", "unflatten", "flatten", "take")
STAGES = {
    "transpose": permuted,
    "reshape": reshaped,
    "view": lambda random, array: reshaped(random, array, "view"),
    "shuffle": shuffled,
    "slice": sliced,
    "flip": flipped,
    "tile": tiled,
    "rearrange": rearranged,
    "squeeze": lambda _, array: ("squeeze", array.squeeze()),
    "expand": lambda _, array: (f"expand {listed((2, *array.shape))}", np.broadcast_to(array, (2, *array.shape))),
    **{op: partial(on_an_axis, op=op) for op in AXIS_OPS},
    **{op: partial(blocks_moved, op=op) for op in ("depth_to_space", "space_to_depth")},
}


def test_every_op_that_moves_elements_is_drawn():
    assert {*STAGES} == {*OPS} - {"shape", *COMBINING}


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.sampled(10)
def test_a_chain_on_a_store_is_numpys(seed, tmp_path):
    random = Random(seed)
    rank = random.randint(0, 5)
    shape = tuple(random.choice([1, 2, 3, 4, 6]) for _ in range(rank))
    array = moved = elements(random.choice(TYPES), shape)
    stages = []
    for _ in range(random.randint(1, 5)):
        ops = [op for op in STAGES if op not in AXIS_OPS or moved.ndim]
        text, moved = STAGES[random.choice(ops)](random, moved)
        stages.append(text)
        if moved.size > 5000 or moved.ndim > 8:
            break
    kind = random.choice([*FORMATS]) if rank else "3"
    made(tmp_path / "x.zarr", array, tuple(random.randint(1, size) for size in shape), **FORMATS[kind])
    answer = carried(" | ".join([listed(shape), *stages]), tmp_path / "x.zarr", tmp_path / "y.zarr")
    found = zarr.open_array(str(tmp_path / "y.zarr"), mode="r")
    assert found.dtype == zarr.open_array(str(tmp_path / "x.zarr")).dtype
    np.testing.assert_array_equal(found[...], moved)
    assert first_difference(answer, str(tmp_path / "x.zarr"), str(tmp_path / "y.zarr"), "all", 1 << 24, int) is None


@pytest.mark.parametrize("kind", FORMATS)
def test_codecs_attributes_fill_value_and_version_are_carried_over(kind, tmp_path):
    source = made(tmp_path / "x.zarr", elements("f4", (4, 6, 8)), (2, 3, 4), 7, attributes={"a": [1]}, **FORMATS[kind])
    carried("4,6,8 | transpose 2,0,1 | reshape 0,-1", tmp_path / "x.zarr", tmp_path / "y.zarr")
    found = zarr.open_array(str(tmp_path / "y.zarr"), mode="r")
    assert (found.metadata.zarr_format, found.fill_value, found.order) == (source.metadata.zarr_format, 7, source.order)
    assert (found.compressors, found.filters, found.attrs.asdict()) == (source.compressors, source.filters, {"a": [1]})
    assert (found.shards is None) == (source.shards is None)


def test_names_of_dimensions_stay_with_the_axes_that_survive(tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (4, 6, 8)), (2, 3, 4), dimension_names=["a", "b", "c"])
    carried("4,6,8 | transpose 2,0,1 | reshape 0,-1", tmp_path / "x.zarr", tmp_path / "y.zarr")
    assert zarr.open_array(str(tmp_path / "y.zarr")).metadata.dimension_names == ("c", None)
    made(
        tmp_path / "old.zarr",
        elements("f4", (4, 6)),
        (2, 3),
        zarr_format=2,
        attributes={"_ARRAY_DIMENSIONS": ["a", "b"]},
    )
    carried("4,6 | transpose 1,0", tmp_path / "old.zarr", tmp_path / "new.zarr")
    assert zarr.open_array(str(tmp_path / "new.zarr")).attrs["_ARRAY_DIMENSIONS"] == ["b", "a"]


@pytest.mark.parametrize("shape", ["0,3", "3,0,2"])
def test_empty_arrays_are_carried_too(shape, tmp_path):
    sizes = tuple(map(int, shape.split(",")))
    made(tmp_path / "x.zarr", np.empty(sizes, "f4"), (1,) * len(sizes))
    carried(f"{shape} | transpose", tmp_path / "x.zarr", tmp_path / "y.zarr")
    assert zarr.open_array(str(tmp_path / "y.zarr")).shape == sizes[::-1]


def test_npy_and_hdf5_files_are_inputs(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    array = elements("f4", (6, 4, 5))
    np.save(tmp_path / "x.npy", array)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("group/data", data=array, chunks=(2, 2, 5), compression="gzip")
    for text in ("x.npy", "x.h5:/group/data"):
        carried("6,4,5 | transpose 2,0,1", tmp_path / text, tmp_path / f"{text[2:4]}.zarr")
        np.testing.assert_array_equal(
            zarr.open_array(str(tmp_path / f"{text[2:4]}.zarr"))[...], array.transpose(2, 0, 1)
        )


def test_two_passes_leave_the_same_output(tmp_path):
    array = elements("f4", (512, 64, 256))
    made(tmp_path / "x.zarr", array, (64, 32, 256))
    chain = "512,64,256 | transpose 2,1,0 | reshape 0,-1"
    answer = answer_chain(*read_chain(chain), {})
    job = plan_job(answer, str(tmp_path / "x.zarr"), 36 << 20, 1)
    assert len(job.plan.passes) == 2
    carry_job(job, tmp_path / "y.zarr", on_threads(1), int, force=False, resume=False)
    np.testing.assert_array_equal(
        zarr.open_array(str(tmp_path / "y.zarr"))[...], array.transpose(2, 1, 0).reshape(256, -1)
    )


@pytest.mark.parametrize("kind", ["u1", "f4", "c16"])
@pytest.mark.parametrize("chunks", [None, (150, 140, 100), (40, 140, 130)])
def test_large_chunks_are_filled_in_tiles_whole_and_by_parts(kind, chunks, tmp_path):
    array = np.arange(130 * 140 * 150).astype(kind).reshape(130, 140, 150)
    made(tmp_path / "x.zarr", array, (65, 70, 75), compressors=None)
    carried("130,140,150 | transpose 2,1,0", tmp_path / "x.zarr", tmp_path / "y.zarr", chunks=chunks)
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "y.zarr"), mode="r")[...], array.transpose(2, 1, 0))


def test_a_difference_is_found_and_named(tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (4, 6)), (2, 3))
    answer = carried("4,6 | transpose 1,0", tmp_path / "x.zarr", tmp_path / "y.zarr")
    zarr.open_array(str(tmp_path / "y.zarr"), mode="r+")[5, 1] = 99
    found = first_difference(answer, str(tmp_path / "x.zarr"), str(tmp_path / "y.zarr"), "all", 1 << 24, int)
    assert (found.index, found.found, found.expected) == ((5, 1), "99.0", "12.0")


def test_comparing_keeps_no_more_chunks_than_the_memory_holds(tmp_path, monkeypatch):
    made(tmp_path / "x.zarr", elements("f4", (16, 16)), (2, 2))
    answer = carried("16,16 | transpose 1,0", tmp_path / "x.zarr", tmp_path / "y.zarr", chunks=(2, 2))
    readers, reader = [], carrying._Reader
    monkeypatch.setattr(carrying, "_Reader", lambda *words: readers.append(reader(*words)) or readers[-1])
    assert first_difference(answer, str(tmp_path / "x.zarr"), str(tmp_path / "y.zarr"), "all", 10 * 16, int) is None
    assert [each.chunk.cache_info().currsize for each in readers] == [5, 5]


def test_a_chunk_that_does_not_match_its_checksum_is_said_and_leaves_a_part(tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (4, 6)), (2, 3), compressors=[zarr.codecs.Crc32cCodec()])
    chunk = tmp_path / "x.zarr" / "c" / "1" / "1"
    chunk.write_bytes(b"\xff" + chunk.read_bytes()[1:])
    with pytest.raises(FileError, match=r"x\.zarr: .*checksum.*begin anew.*rm -r"):
        carried("4,6 | transpose 1,0", tmp_path / "x.zarr", tmp_path / "y.zarr")
    assert not (tmp_path / "y.zarr").exists()
    assert (tmp_path / "y.zarr.part" / "manifest.json").exists()


def test_the_traces_of_python_are_carried_too(tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (2, 3)), (1, 2))
    job = plan_job(sc.transpose((2, 3)), str(tmp_path / "x.zarr"), 1 << 28, 1)
    carry_job(job, tmp_path / "y.zarr", on_threads(1), int, force=False, resume=False)
    assert zarr.open_array(str(tmp_path / "y.zarr")).shape == (3, 2)


def test_another_store_of_the_same_name_is_opened_anew(tmp_path):
    for shape, chain in (((4, 6), "4,6 | transpose 1,0"), ((2, 3, 4), "2,3,4 | transpose 2,0,1")):
        made(tmp_path / "x.zarr", elements("f4", shape), (1,) * len(shape), overwrite=True)
        carried(chain, tmp_path / "x.zarr", tmp_path / "y.zarr", force=True)
    assert zarr.open_array(str(tmp_path / "y.zarr")).shape == (4, 2, 3)


def job_by_chunks(source, shape=(6, 4)):
    """Return the job of a transpose with a task for each chunk of two elements of the output."""
    job = plan_job(sc.transpose(shape), str(source), 1 << 28, 1, (1, 2))
    (only,) = job.plan.passes
    return replace(job, plan=Plan((replace(only, task=only.chunks),)))


def broken_off(after):
    """Return what does so many tasks, and fails without a word."""

    def run(work, numbers):
        yield from islice(on_threads(1)(work, numbers), after)
        raise AssertionError

    return run


def break_off(job, target, after=7):
    """Leave a part with so many tasks done."""
    with pytest.raises(FileError, match=r"y\.zarr: AssertionError; mend it and go on with --resume"):
        carry_job(job, target, broken_off(after), int, force=False, resume=False)


def rewritten(file):
    """Write other bytes into a file, and give it its times back."""
    before = file.stat()
    file.write_bytes(file.read_bytes()[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {
    "other bytes with the times of before": rewritten,
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"0"),
    "touched": partial(os.utime, times=(0, 0)),
    "gone": Path.unlink,
    "renamed": lambda file: file.rename(file.with_name("9")),
    "one more": lambda file: file.with_name("9").write_bytes(b"0"),
    "one more that is linked": lambda file: file.with_name("9").symlink_to(file),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_source_whose_chunks_are_changed_is_not_gone_on_with(change, tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (6, 4)), (2, 2), compressors=None)
    job = job_by_chunks(tmp_path / "x.zarr")
    break_off(job, tmp_path / "y.zarr")
    assert job.state == state_of(str(tmp_path / "x.zarr"))
    CHANGES[change](tmp_path / "x.zarr" / "c" / "0" / "1")
    with pytest.raises(FileError, match="its source is another"):
        again = job_by_chunks(tmp_path / "x.zarr")
        carry_job(again, tmp_path / "y.zarr", on_threads(1), int, force=False, resume=True)
    assert not (tmp_path / "y.zarr").exists()


@pytest.mark.parametrize("changed", ["x.npy", "x.zarr/c/0/1"])
def test_a_source_that_is_changed_while_it_is_read_is_said(changed, tmp_path):
    np.save(tmp_path / "x.npy", elements("f4", (6, 4)))
    made(tmp_path / "x.zarr", elements("f4", (6, 4)), (2, 2))
    job = plan_job(sc.transpose((6, 4)), str(tmp_path / changed.split("/c/")[0]), 1 << 28, 1)
    with pytest.raises(FileError, match="changed while it was read"):
        change = partial(rewritten, tmp_path / changed)
        carry_job(job, tmp_path / "y.zarr", on_threads(1), lambda _: change(), force=False, resume=False)
    assert not (tmp_path / "y.zarr").exists()


def test_folders_that_are_links_count_once_however_they_are_linked(tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (6, 4)), (2, 2))
    (tmp_path / "x.zarr" / "c").rename(tmp_path / "c")
    (tmp_path / "x.zarr" / "c").symlink_to(tmp_path / "c")
    before = state_of(str(tmp_path / "x.zarr"))
    rewritten(tmp_path / "c" / "0" / "1")
    for name in "abc":
        (tmp_path / "c" / name).symlink_to(tmp_path / "c")
    assert state_of(str(tmp_path / "x.zarr")) != before


def flipped(file):
    found = file.read_bytes()
    file.write_bytes(bytes([found[0] ^ 1]) + found[1:])


DAMAGE = {
    "cut in half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "a bit": flipped,
    "longer": CHANGES["longer"],
    "gone": Path.unlink,
    "another chunk": lambda file: file.write_bytes(file.with_name("1").read_bytes()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_finished_chunk_that_is_damaged_is_written_again_and_no_other(damage, tmp_path):
    array = elements("f4", (6, 4))
    made(tmp_path / "x.zarr", array, (2, 2), compressors=None)
    job = job_by_chunks(tmp_path / "x.zarr")
    break_off(job, tmp_path / "y.zarr")
    chunks = sorted((tmp_path / "y.zarr.part" / "0.array.zarr" / "c").glob("*/*"))
    times = [each.stat().st_mtime_ns for each in chunks]
    DAMAGE[damage](chunks[0])
    counts = []
    carry_job(job, tmp_path / "y.zarr", on_threads(1), counts.append, force=False, resume=True)
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "y.zarr"))[...], array.T)
    assert (len(chunks), counts) == (7, [0, 6 * 8, *[8] * 6])
    kept = sorted((tmp_path / "y.zarr" / "c").glob("*/*"))[1:7]
    assert [each.stat().st_mtime_ns for each in kept] == times[1:]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.pop("format of records"), "its format of records is another"),
        (lambda found: found.update(shapecalc="0.1"), "its shapecalc is another"),
        (lambda found: found["source"].pop(), "its source is another"),
    ],
)
def test_a_part_of_another_version_is_refused_in_a_line(change, said, tmp_path):
    made(tmp_path / "x.zarr", elements("f4", (6, 4)), (2, 2))
    job = job_by_chunks(tmp_path / "x.zarr")
    break_off(job, tmp_path / "y.zarr")
    manifest = tmp_path / "y.zarr.part" / "manifest.json"
    found = json.loads(manifest.read_text())
    change(found)
    manifest.write_text(json.dumps(found))
    with pytest.raises(FileError, match=said):
        carry_job(job, tmp_path / "y.zarr", on_threads(1), int, force=False, resume=True)


@pytest.mark.parametrize("damaged", [0, 1])
def test_of_two_passes_the_damaged_one_is_gone_on_with(damaged, tmp_path):
    array = elements("f4", (512, 64, 256))
    made(tmp_path / "x.zarr", array, (64, 32, 256))
    answer = answer_chain(*read_chain("512,64,256 | transpose 2,1,0 | reshape 0,-1"), {})
    job = plan_job(answer, str(tmp_path / "x.zarr"), 36 << 20, 1)
    second = []

    def run(work, numbers):
        second.append(work.source)
        return (on_threads(1) if len(second) == 1 else broken_off(2))(work, numbers)

    with pytest.raises(FileError, match="AssertionError"):
        carry_job(job, tmp_path / "y.zarr", run, int, force=False, resume=False)
    chunk = next((tmp_path / "y.zarr.part" / f"{damaged}.array.zarr" / "c").glob("*/*"))
    while chunk.is_dir():
        chunk = next(chunk.iterdir())
    DAMAGE["cut in half"](chunk)
    carry_job(job, tmp_path / "y.zarr", on_threads(1), int, force=False, resume=True)
    want = array.transpose(2, 1, 0).reshape(256, -1)
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "y.zarr"))[...], want)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (AssertionError(), "AssertionError"),
        (ValueError(" \n"), "ValueError"),
        (OSError(), "OSError"),
        (MemoryError(), "it takes more memory than there is, or than --memory allows"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RuntimeError("it is\nso."), "it is so"),
    ],
)
def test_a_reason_is_one_line_and_never_empty(error, reason):
    assert reason_of(error) == reason


def test_a_chunk_of_fill_values_needs_no_file(tmp_path):
    array = np.full((4, 8), 7, "f4")
    array[0, 5] = 1
    made(tmp_path / "x.zarr", array, (2, 4), fill_value=7)
    carried("4,8 | transpose 1,0", tmp_path / "x.zarr", tmp_path / "y.zarr", chunks=(4, 2))
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "y.zarr"), mode="r")[...], array.T)
    assert [path.relative_to(tmp_path).as_posix() for path in (tmp_path / "y.zarr").rglob("c/*/*")] == ["y.zarr/c/1/0"]
