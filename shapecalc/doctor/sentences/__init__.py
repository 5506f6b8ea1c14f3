"""The table of sentences: what runtimes say of shapes, and of other things that are taken for shapes."""

from __future__ import annotations

from shapecalc.doctor.sentences.arrays import ARRAYS
from shapecalc.doctor.sentences.engines import ENGINES
from shapecalc.doctor.sentences.families import FAMILIES
from shapecalc.doctor.sentences.graphs import GRAPHS

SENTENCES = (*ARRAYS, *GRAPHS, *ENGINES, *FAMILIES)
