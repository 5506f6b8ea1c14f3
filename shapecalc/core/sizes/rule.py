"""`Rule`: one rule, with the texts about it. The rules themselves are in the room `rules`."""

from __future__ import annotations


class Rule(str):
    """A rule's id, as problems and steps show it, with the texts that `shapecalc why ID` prints.

    >>> rule = Rule("two-infers", "more than one dim to infer", "Two unknowns ...", "shapecalc ...", "ONNX Reshape")
    >>> rule, rule.sentence
    ('two-infers', 'more than one dim to infer')
    """

    __slots__ = ("example", "explanation", "sentence", "source")

    sentence: str
    """The rule in one line."""
    explanation: str
    example: str
    """A command line in which the rule acts."""
    source: str
    """Where the rule is written down, or which library was run."""

    def __new__(cls, id: str, sentence: str, explanation: str, example: str, source: str) -> Rule:
        """Make a rule from its id and its texts."""
        made = super().__new__(cls, id)
        for name, text in zip(cls.__slots__, (example, explanation, sentence, source), strict=True):
            object.__setattr__(made, name, text)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a rule cannot be changed")

    def __reduce__(self) -> tuple[type[Rule], tuple[str, ...]]:
        return Rule, (str(self), self.sentence, self.explanation, self.example, self.source)

    def as_json(self) -> dict[str, str]:
        """Return the rule as the JSON object that `shapecalc why --json` prints."""
        texts = {"explanation": self.explanation, "example": self.example, "source": self.source}
        return {"id": str(self), "says": self.sentence, **texts}
