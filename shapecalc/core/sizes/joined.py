"""Relations taken together: what they settle, whether sizes can meet them all, and which follow from the others.

A relation is a sign and the quotient of its two sides: `==` says that the quotient is 1, `!=` that it is not, `%`
that it is whole.
"""

from __future__ import annotations

from shapecalc.core.sizes.dims import Monomial, names
from shapecalc.core.sizes.inequalities import Undecided, Work
from shapecalc.core.sizes.systems import Impossible, System

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Relation = tuple[str, Monomial]

WORK_OF_EACH = 50
"""How much longer a question about many relations may take for each of them."""
KEPT_FIRST = "==", "%", "!="
"""Of relations that follow from each other, those that stay; of equal ones, those that come first."""


def settled_sizes(relations: Sequence[Relation]) -> dict[str, int]:
    """Return the names to which the relations leave one size; raise `Impossible` if they leave a name none.

    >>> from shapecalc.core.sizes.dims import lowest_terms
    >>> settled_sizes([("==", lowest_terms(1, 1, {"N": 1, "M": -1})), ("==", lowest_terms(1, 4, {"N": 1, "M": 1}))])
    {'M': 2, 'N': 2}
    """
    work = Work(WORK_OF_EACH * len(relations))
    sizes = {name: size for group in _linked(relations) for name, size in _settled(group, work).items()}
    if any(size.denominator != 1 for size in sizes.values()):
        raise Impossible
    return {name: size.numerator for name, size in sorted(sizes.items())}


def _settled(group: Sequence[Relation], work: Work) -> Mapping[str, Monomial]:
    """Return what a group settles, as far as that is found in a short time."""
    try:
        system = _system(group, work)
        if len(group) > 1:
            system.settle()
    except Undecided:
        return {}
    return system.numbers


def independent(relations: Sequence[Relation]) -> list[Relation]:
    """Return the relations that do not follow from the others; raise `Impossible` if no sizes meet them all."""
    work = Work(WORK_OF_EACH * len(relations))
    return [
        relation
        for group in _linked(relations)
        for relation in (_independent(group, work) if len(group) > 1 else group)
    ]


def _linked(relations: Iterable[Relation]) -> list[list[Relation]]:
    """Return the relations in groups that have no name in common."""
    group_of: dict[str, list[Relation]] = {}
    for relation in relations:
        present = names(relation[1:])
        groups = {id(group_of[name]): group_of[name] for name in present if name in group_of}
        largest = max(groups.values(), key=len, default=[])
        smaller = [group for group in groups.values() if group is not largest]
        largest += [relation, *(each for group in smaller for each in group)]
        moved = names(ratio for group in smaller for _, ratio in group)
        group_of |= dict.fromkeys((*present, *moved), largest)
    return list({id(group): group for group in group_of.values()}.values())


def _independent(group: list[Relation], work: Work) -> list[Relation]:
    """Return those of a group, as far as that is found in a short time."""
    kept = group
    try:
        whole = _system(group, work)
        if not whole.allows([ratio for sign, ratio in group if sign == "!="]):
            raise Impossible
        kept = [each for each in group if each[0] != "==" or each[1] not in whole.repeated]
        for relation in sorted(kept, key=lambda each: KEPT_FIRST.index(each[0]))[::-1]:
            others = [each for each in kept if each is not relation]
            if _follows(relation, others, work):
                kept = others
    except Undecided:
        pass
    return kept


def _follows(relation: Relation, others: Iterable[Relation], work: Work) -> bool:
    """Say whether a relation holds for all sizes that meet the others."""
    sign, ratio = relation
    if sign == "!=":
        try:
            return not _system([*others, ("==", ratio)], work).allows()
        except Impossible:
            return True
    system = _system(others, work)
    return system.makes_one(ratio) if sign == "==" else system.makes_whole(ratio)


def _system(relations: Iterable[Relation], work: Work) -> System:
    relations = tuple(relations)
    return System(
        [ratio for sign, ratio in relations if sign == "=="], [ratio for sign, ratio in relations if sign == "%"], work
    )
