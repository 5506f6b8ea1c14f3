"""Advice for tables and lists with different lengths or numbers of features.

The line of code names the table, the values and the axis. The two numbers show whether rows were filtered, regrouped
or lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from shapecalc.diagnosis.evidence import assigned_value, failing_code, print_step
from shapecalc.diagnosis.reading import ParsedMessage
from shapecalc.diagnosis.suggestions import numeric_sizes

LABEL_ASSIGNMENT = re.compile(r"(?P<frame>[A-Za-z_][\w.]*)\.(?P<axis>columns|index) ?= ?(?P<names>[A-Za-z_][\w.]*)?")
"""An assignment to the column or row labels of a pandas DataFrame."""
SET_AXIS = ("expected axis has",)
EXTRACT = re.compile(r"\.str\.extract(?:all)?\(")
METRIC_CALL = re.compile(r"(?:_error|_score|_loss|accuracy|report|confusion_matrix)\(")
FIT_CALL = re.compile(r"\.fit\(|check_X_y|train_test_split\(|fit_transform\(")
VOCABULARY_RATIO = 1.2
"""The exclusive upper bound of the size ratio of two vocabularies of similar texts."""
MIN_WORDS = 1000
FIT_ARGUMENTS = re.compile(r"\.fit\(\s*(\w+)\s*,\s*(\w+)\s*[,)]")
"""The two arguments of a call that fits an estimator."""
TEST_NAME = re.compile(r"(?i)^(?:[a-z]+_)?x?_?(?:test(?:ing)?|valid(?:ation)?|val)(?:_(?:data|set|x|df|features))?$")
"""A name for the part of a data set that is used for validation or tests."""
PASSED_COLUMNS = re.compile(r"\w\([^()]*\b(?:labels|y|target) ?= ?([\w.]+\.columns)(?![\w.\[])")
"""A call with the column labels of a table as its labels."""
CONCATENATED_TABLES = re.compile(r"concat\(\[([\w., ]+)\][^)]*axis ?= ?1")
"""The tables in a concatenation of columns."""
TEXT_WORDS = re.compile(r"(?i)vectori[sz]er|tf.?idf|text|tok|vocab|binari[sz]er|transform\(")
"""Words that suggest a program that converts texts to features."""
RANGE_CALL = re.compile(r"\b(?:np\.a)?range\([\w.+ -]+\)")
"""The numbers from 0 to a limit, in a line of code."""
MIN_PIXELS = 4096
"""The exclusive lower bound of the number of pixels of an image."""
MIN_TALL_RATIO = 8
"""The minimum ratio of the row count of a table to its column count."""
MAX_ROW_RATIO = 64
"""The maximum ratio of two sizes that is explained by a reshape or a selection of several rows."""


def iter_table_steps(message: ParsedMessage) -> Iterator[str]:
    """Yield advice for a table or a list of the wrong length, the likeliest first."""
    if message.framework == "matplotlib" and message.cause == "lengths-differ" and message.input and message.operands:
        yield from _plot_steps(message, numeric_sizes(message.input), numeric_sizes(message.operands[0]))
    if message.pair is None or min(message.pair) < 0:
        return
    actual, expected = message.pair
    if message.cause == "lengths-differ" and any(words in message.quote.lower() for words in SET_AXIS):
        yield from _name_steps(message, actual, expected)
    elif message.cause == "lengths-differ" and message.framework in ("sklearn", "matplotlib", "keras"):
        yield from _row_steps(message, actual, expected)
    elif "item wrong length" in message.quote.lower():
        yield (
            f"the mask has {actual} items and the table {expected} rows: make it from this table, after its rows "
            "were dropped, and print len(mask), len(df) before that line"
        )
    elif message.cause == "lengths-differ" and "wrong number of items" in message.quote.lower():
        yield (
            f"the data has {actual} columns where {expected} are named: print its shape, and transpose or flatten "
            f"it, x.T or x.ravel(), or name {actual} columns"
        )
    elif (
        message.cause == "lengths-differ"
        and message.framework == "pandas"
        and "length of values" in message.quote.lower()
    ):
        yield (
            f"print(len(df), len(values)) before that line: the table has {expected} rows, and {actual} values are "
            "given; make them from the same rows, or give a Series with the index of its rows"
        )
    elif message.cause == "features-differ" and message.framework == "sklearn" and "features" in message.quote:
        yield from filter(None, [_features_advice(message, actual, expected)])
        yield (
            f"compare X.columns with the columns at fit, model.feature_names_in_: {actual} are given, {expected} were "
            "fitted; select the same columns, and transform the data by the objects that were fitted"
        )


def _plot_steps(message: ParsedMessage, x: tuple[int, ...], y: tuple[int, ...]) -> Iterator[str]:
    """Yield the steps for the two arrays of a plot."""
    names = message.failing_line.operands if message.failing_line else ()
    one, two = names if len(names) == 2 else ("x", "y")
    value = assigned_value(message, one)
    if prod(x) == prod(y) > 1:
        name = one if len(x) > len(y) else two
        yield f"both hold {prod(y)} values, in different shapes: plot {name}.ravel()"
        return
    if x == (1,) or (value and not value.startswith("[")):
        given = f"{one} is the number {value} in this text" if value else f"{one} is a single value"
        yield f"{given}, and {two} has {y[0] if y else 1}: give a value of x for each, as np.arange(len({two}))"
        return
    counted = RANGE_CALL.search(failing_code(message))
    if counted and len(x) == len(y) == 1:
        yield (
            f"{counted[0]} has {x[0]} values, and {two} {y[0]}: count what there is, range(len({two})); if values of "
            "earlier epochs are missing, as after a restart, keep the list, or begin x where it begins"
        )
        return
    ends = f"np.linspace(start, stop, len({two})) keeps the ends of {one}, np.arange(len({two})) counts its values"
    if x and y and abs(x[0] - y[0]) == 1:
        yield (
            f"{print_step(message, 'x.shape, y.shape')}, and find why one is shorter by 1: a list that was appended to "
            "once less, a difference or the edges of a histogram, or int(duration*rate) where round(duration*rate) is "
            "meant"
        )
        yield f"if {one} only numbers the values of {two}: {ends}"
        return
    yield f"plot both from the same rows, {one}[mask] with {two}[mask]; if {one} only numbers the values: {ends}"


def _name_steps(message: ParsedMessage, actual: int, expected: int) -> Iterator[str]:
    """Yield advice for a wrong number of column or row labels."""
    match = LABEL_ASSIGNMENT.search(failing_code(message))
    frame, names = (match["frame"], match["names"]) if match else ("df", None)
    # the last component of the name is a method
    if match and names and failing_code(message)[match.end() :].startswith("("):
        names = names.rpartition(".")[0] or None
    axis = match["axis"] if match else "columns"
    if expected == 0:
        yield f"the frame is empty: print({frame}) before that line, and find why it was filled with nothing"
        return
    if axis == "index":
        source = names or "the new index"
        yield (
            f"print({frame}.shape, len({names or 'values'})) before that line: {frame} has {expected} rows, {source} "
            f"{actual}; one of them was filtered, so take both from the same table"
        )
        return
    if match is None and (parts := CONCATENATED_TABLES.search(failing_code(message))):
        noun = "column" if expected == 1 else "columns"
        shown = ", ".join(f"{name.strip()}.shape" for name in parts[1].split(","))
        yield (
            f"print({shown}) before that line: joined they have {expected} {noun}, and {actual} names are given; one "
            "of them may be empty or None, so find why no data came"
        )
        return
    if match is None:
        yield (
            f"print the columns of the table before it is named: it has {expected}, and {actual} names are given; name "
            "each, or select the columns before"
        )
        return
    if EXTRACT.search(message.text):
        yield (
            f"str.extract makes a column of each group in parentheses, here {expected}: write (?:...) for those that "
            "you do not want, and {2,} in an f-string as {{2,}}"
        )
    yield (
        f"print({frame}.columns) before that line: it has {expected}, and {actual} names are given; name each, or "
        f"select the columns before, {frame} = {frame}[...]"
    )


def _row_steps(message: ParsedMessage, actual: int, expected: int) -> Iterator[str]:
    """Yield advice for two arrays with different numbers of rows."""
    line = failing_code(message)
    names = message.failing_line.operands if message.failing_line else ()
    printed = (
        print_step(message, "X.shape, y.shape") if len(names) != 1 else "print the shapes of both before that line"
    )
    small, large = sorted((actual, expected))
    times, remainder = divmod(large, small or large)
    is_narrow = small * MIN_TALL_RATIO <= large
    fitted = FIT_ARGUMENTS.search(line)
    if fitted and TEST_NAME.search(fitted[2]) and not TEST_NAME.search(fitted[1]):
        yield (
            f"fit takes the data and its labels: {fitted[2]}, with {expected} rows, is named as a test set, not as the "
            f"labels of {fitted[1]}, which has {actual}; write fit(X_train, y_train)"
        )
    elif METRIC_CALL.search(line):
        yield (
            f"{printed}: one has {actual} rows, the other {expected}; predict the rows of the labels: "
            "model.predict(X_test)"
        )
    elif small == 1 and not METRIC_CALL.search(line) and FIT_CALL.search(line or ".fit("):
        yield (
            f"{printed}: one has a single row; make a column of {large} rows, x.reshape(-1, 1), or drop the list "
            "around it"
        )
    elif not remainder and times == 3 and small > MIN_PIXELS:
        yield (
            f"{printed}: {large} = 3*{small}, as three colours beside one value for each pixel: read both in grey, or "
            "reshape the picture to (-1, 3)"
        )
    elif not remainder and 1 < times <= MAX_ROW_RATIO and small > 1:
        yield (
            f"{printed}: {large} = {times}*{small}, so a reshape made {times} rows of one; keep the rows, "
            "x.reshape(len(x), -1), and check the number of columns that it is given"
        )
    elif small * small == large and small > 1:
        yield (
            f"{printed}: {large} = {small}*{small}, as a picture of {small}x{small} that one side holds as rows of "
            f"pixels and the other as a picture: flatten both alike, y.reshape(-1)"
        )
    elif PASSED_COLUMNS.search(line) or PASSED_COLUMNS.search(message.nearby_text):
        match = PASSED_COLUMNS.search(line) or PASSED_COLUMNS.search(message.nearby_text)
        name = match[1] if match else "y"
        yield (
            f"print(len({name}), {name}[:3]) before that line: these are the names of columns, not a value for each "
            f"row; pass the column itself, df['target'], and leave it out of the data"
        )
    else:
        yield (
            f"{printed}: one has {actual} rows, the other {expected}; find the filter or slice that only one of them "
            "passed, and take both from the same rows"
            + (f"; if {small} is a number of columns, names of columns or a transposed table are passed" * is_narrow)
        )


def _features_advice(message: ParsedMessage, actual: int, expected: int) -> str:
    """Return the advice for a table with another number of features than in training, or an empty string."""
    if actual == 2 < expected:
        return f"a grid for a plot has 2 columns: fit a model on these 2 features, or fill the other {expected - 2}"
    is_near = max(actual, expected) < VOCABULARY_RATIO * min(actual, expected)
    if is_near and min(actual, expected) > MIN_WORDS and TEXT_WORDS.search(message.text):
        return "fit the vectorizer once, on the training texts, and call only transform on the others"
    times, remainder = divmod(actual, expected or actual)
    if not remainder and 1 < times <= MAX_ROW_RATIO and expected > 1:
        return (
            f"print the shape of the data before predict and any reshape: {actual} = {times}*{expected}, and "
            f"reshape(1, -1) makes one row of {times}; if so, keep the rows, x.reshape(-1, {expected}), or, where one "
            f"is meant, find why {times} were selected: df.loc[label] gives as many as have that label"
        )
    return ""
