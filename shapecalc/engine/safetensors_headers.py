"""The header of a .safetensors file: its length in eight bytes, then JSON with every tensor's type, shape and place.

Source: the format as the README of huggingface/safetensors has it, and the types of its `Dtype`.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.text import brief
from shapecalc.engine.headers import Found, first_bytes, unreadable
from shapecalc.engine.json_headers import checked_shape, read_object
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LENGTH_BYTES = 8
LONGEST_HEADER = 100_000_000
"""The most bytes of a header that are read, as in the library."""
ABOUT_THE_FILE = "__metadata__"
"""The name that stands for no tensor."""
TYPES = {"BOOL": ("bool", 8), "BF16": ("bfloat16", 16), "C64": ("complex64", 64)}
TYPES |= {f"F{bits}": (f"float{bits}", bits) for bits in (16, 32, 64)}
TYPES |= {f"I{bits}": (f"int{bits}", bits) for bits in (8, 16, 32, 64)}
TYPES |= {f"U{bits}": (f"uint{bits}", bits) for bits in (8, 16, 32, 64)}
TYPES |= {"F8_E4M3": ("float8_e4m3fn", 8), "F8_E5M2": ("float8_e5m2", 8), "F8_E8M0": ("float8_e8m0fnu", 8)}
TYPES |= {"F8_E4M3FNUZ": ("float8_e4m3fnuz", 8), "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8)}
TYPES |= {"F4": ("float4_e2m1fn", 4), "F6_E2M3": ("float6_e2m3fn", 6), "F6_E3M2": ("float6_e3m2fn", 6)}
"""The names of element types and their bits, by those of the format."""


def tensors_of_file(path: str, member: str = "") -> Iterator[Found]:
    """Yield what is found of the tensors of a file, or of one of them.

    Raises `OSError`, `Unreadable` for a file without such a header.
    """
    data, size = first_bytes(path)
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    held = size - LENGTH_BYTES - length
    if len(data) < LENGTH_BYTES or held < 0:
        raise Unreadable("it ends before its header does")
    if length > LONGEST_HEADER:
        raise Unreadable(f"its header is said to be {length} bytes long, and at most {LONGEST_HEADER} are read")
    if len(data) < LENGTH_BYTES + length:
        data, _ = first_bytes(path, LENGTH_BYTES + length)
    header = read_object(data[LENGTH_BYTES : LENGTH_BYTES + length])
    header.pop(ABOUT_THE_FILE, None)
    if member and member not in header:
        raise Unreadable(f"it has {', '.join(map(brief, [*header][:16]))}; write {path}:NAME")
    for name in [member] if member else header:
        yield _found(f"{path}:{name}", header[name], held)


def _found(name: str, stated: object, held: int) -> Found:
    """Return what a header states of one tensor, in a file that holds so many bytes of elements."""
    try:
        fields = stated if isinstance(stated, dict) else {}
        spelled, place = fields.get("dtype"), fields.get("data_offsets")
        if not isinstance(spelled, str) or not isinstance(place, list) or [*map(type, place)] != [int, int]:
            raise Unreadable("its header does not state dtype, shape and data_offsets of it")
        shape, (start, end) = checked_shape(fields.get("shape")), place
        dtype, bits = TYPES.get(spelled, (None, None))
        if not 0 <= start <= end <= held:
            raise Unreadable(f"its header places it at bytes {start} to {end} of {held}")
        if bits is not None and prod(shape) * bits != (end - start) * 8:
            raise Unreadable(f"its shape and type ask for {prod(shape) * bits // 8} bytes, and it has {end - start}")
    except Unreadable as error:
        return unreadable(name, error)
    return Found(name, shape, dtype)
