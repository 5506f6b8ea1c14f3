"""ONNX's operators for classical machine learning, of whose outputs ONNX itself infers no shapes.

Each row of the table is called with a node's attributes and the shapes of its inputs at one size. It returns the
shapes of the outputs; None for one that nobody can say. Source: Operators-ml.md of ONNX, and ONNX Runtime's kernels.
"""

from __future__ import annotations

from math import prod

from shapecalc.models.element_kinds import FLOAT, INT64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from shapecalc.models.walk import Sizes

    Attributes = Mapping[str, Any]
    Rule = Callable[[Attributes, Sequence[Sizes | None]], tuple[Sizes | None, ...]]

STRING = 8
LABELS = (
    "classlabels_int64s",
    "classlabels_ints",
    "classlabels_strings",
    "cats_int64s",
    "cats_strings",
)
"""The attributes that list classes, by operators."""


def _rows(shapes: Sequence[Sizes | None], columns: int | None) -> Sizes | None:
    """Return a matrix with a row for each row of the first input."""
    first = shapes[0] if shapes else None
    return (first[0], columns) if first is not None and len(first) == 2 and columns else None


def _classes(attributes: Attributes) -> int:
    """Return how many classes there are."""
    return max(len(attributes.get(name, ())) for name in LABELS)


def _labelled(columns: Callable[[Attributes], int | None]) -> Rule:
    """Return the rule of a classifier: a label for each row, and so many scores."""

    def rule(attributes: Attributes, shapes: Sequence[Sizes | None]) -> tuple[Sizes | None, ...]:
        scores = _rows(shapes, columns(attributes))
        return (None if scores is None else scores[:1]), scores

    return rule


def _support_scores(attributes: Attributes) -> int | None:
    """Return how many scores an SVMClassifier gives: without probabilities it compares the classes in pairs."""
    classes = _classes(attributes)
    return classes if attributes.get("prob_a") or classes == 2 else classes * (classes - 1) // 2


def _regressed(name: str) -> Rule:
    """Return the rule of a regressor, whose attribute counts the targets."""
    return lambda attributes, shapes: (_rows(shapes, attributes.get(name, 1)),)


def _as_first(_: Attributes, shapes: Sequence[Sizes | None]) -> tuple[Sizes | None, ...]:
    return (shapes[0],)


def _extracted(_: Attributes, shapes: Sequence[Sizes | None]) -> tuple[Sizes | None, ...]:
    """Return the shape of chosen columns, as many as there are indices; those of a vector are a row.

    >>> _extracted({}, [(5, 4), (2,)]), _extracted({}, [(4,), (2, 3)])
    (((5, 2),), ((1, 6),))
    """
    data, chosen = shapes[0], shapes[1] if len(shapes) > 1 else None
    if not data or chosen is None:
        return (None,)
    return ((*(data[:-1] or (1,)), prod(chosen)),)


def _one_hot(attributes: Attributes, shapes: Sequence[Sizes | None]) -> tuple[Sizes | None, ...]:
    return (None if shapes[0] is None else (*shapes[0], _classes(attributes)),)


def _joined(_: Attributes, shapes: Sequence[Sizes | None]) -> tuple[Sizes | None, ...]:
    """Return the shape of features that are put side by side.

    >>> _joined({}, [(5, 4), (5, 2)]), _joined({}, [(5, 4), None])
    (((5, 6),), (None,))
    """
    known = [shape for shape in shapes if shape is not None and len(shape) == 2]
    return (_rows(shapes, sum(shape[1] for shape in known)) if len(known) == len(shapes) else None,)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("Scaler", "Normalizer", "Binarizer", "Imputer", "LabelEncoder", "CategoryMapper"), _as_first),
    **dict.fromkeys(("LinearClassifier", "TreeEnsembleClassifier"), _labelled(_classes)),
    "SVMClassifier": _labelled(_support_scores),
    "LinearRegressor": _regressed("targets"),
    "SVMRegressor": lambda _, shapes: (_rows(shapes, 1),),
    "TreeEnsembleRegressor": _regressed("n_targets"),
    "TreeEnsemble": _regressed("n_targets"),
    "ArrayFeatureExtractor": _extracted,
    "OneHotEncoder": _one_hot,
    "FeatureVectorizer": _joined,
}
"""The operators that are known."""
CLASSIFIERS = ("LinearClassifier", "TreeEnsembleClassifier", "SVMClassifier")
AS_GIVEN = ("ArrayFeatureExtractor", "Binarizer", "Imputer")
"""The operators whose output has the element type of their first input."""


def dtypes_of(op: str, attributes: Attributes, given: int) -> tuple[int, ...]:
    """Return the element types of an operator's outputs, by ONNX's numbers; `given` is that of its first input."""
    if op in CLASSIFIERS:
        return STRING if attributes.get("classlabels_strings") else INT64, FLOAT
    if op in ("LabelEncoder", "CategoryMapper"):
        return (_encoded(attributes, given),)
    return (given,) if op in AS_GIVEN else (FLOAT,)


def _encoded(attributes: Attributes, given: int) -> int:
    """Return the element type of what labels are turned into."""
    if "values_tensor" in attributes:
        return int(attributes["values_tensor"].data_type)
    named = {"values_floats": FLOAT, "values_int64s": INT64, "values_strings": STRING}
    return next((dtype for name, dtype in named.items() if name in attributes), INT64 if given == STRING else STRING)
