"""Typer commands made of the tables of options: every value is text, which the core reads."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from shapecalc.cli.inputs import without_padding
from shapecalc.cli.options import PRINTING, Argument, Command, Option, Takes, read_number
from shapecalc.cli.output import Output
from shapecalc.cli.typer_classes import ShapeCommand
from shapecalc.core.problem import ShapeError, misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BY_NAME = "_by_name"
"""What Typer's name of an option ends with if there is an argument of its name."""
KINDS: dict[Takes, tuple[Any, Any]] = {
    Takes.NOTHING: (bool, False),
    Takes.MORE: (int, 0),
    Takes.SWITCH: (bool | None, None),
    Takes.TEXT: (str | None, None),
    Takes.TEXTS: (list[str] | None, None),
    Takes.NUMBER: (str | None, None),
}
"""The type of an option as Typer is told it, and its default, by what the option takes.

Typer converts nothing: a number is a text to it, which `read_number` reads.
"""


def add_command(app: typer.Typer, made_as: Command, *, epilog: str | None = None) -> None:
    """Give the app a command."""
    unknown = {"ignore_unknown_options": True} if made_as.takes_unknown else None
    told = app.command(
        made_as.name,
        cls=ShapeCommand,
        context_settings=unknown,
        short_help=made_as.summary,
        help=made_as.help,
        epilog=epilog,
    )
    told(_function_of(made_as))


def _function_of(made_as: Command) -> Callable[..., int]:
    """Return the function that Typer calls for a command, with a signature made of the parameters."""
    parameters, run = made_as.parameters, made_as.run
    placed, named = ({each.name for each in parameters if isinstance(each, kind)} for kind in (Argument, Option))
    twofold = placed & named
    numbers = [each for each in parameters if isinstance(each, Option) and each.takes is Takes.NUMBER]

    def command(context: typer.Context, **given: Any) -> int:
        values = {name: _strip_padding(value) for name, value in given.items()}
        try:
            values |= {name: _given_once(name, values[name], values.pop(f"{name}{BY_NAME}")) for name in twofold}
            values |= {option.name: read_number(option, values[option.name]) for option in numbers}
        except ShapeError as error:
            context.fail(error.problem.message)
        printing = {name: values.pop(name) for name in PRINTING if name in values}
        return run(**values, **({"context": context} if made_as.with_context else {}), out=Output(**printing))

    made = [_typer_parameter(each, by_name=each.name in twofold) for each in parameters]
    made.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))
    command.__signature__ = inspect.Signature(made, return_annotation=int)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in made} | {"return": int}
    return command


def _strip_padding(value: Any) -> Any:
    """Return a value without the blanks that kept its texts from being taken for options."""
    if isinstance(value, list):
        return [without_padding(text) for text in value]
    return without_padding(value) if isinstance(value, str) else value


def _given_once(name: str, placed: Any, named: Any) -> Any:
    """Return a value that may be given by its place or by its name; raise `ShapeError` (usage) if both give one."""
    if placed is not None and named is not None:
        raise misuse(f"{name} is given twice, by its place and by its name", argument=name)
    return placed if named is None else named


def _typer_parameter(parameter: Argument | Option, *, by_name: bool = False) -> inspect.Parameter:
    """Return how Typer sees an argument or an option; `by_name` an option that is an argument, too."""
    name = parameter.name
    if isinstance(parameter, Argument):
        kind, default = _typer_argument(parameter)
    else:
        kind, default = _typer_option(parameter)
        name += BY_NAME if by_name else ""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _typer_argument(argument: Argument) -> tuple[Any, Any]:
    """Return the type of an argument as Typer is told it, and its default."""
    kind: Any = list[str] if argument.repeated else str
    info = typer.Argument(
        metavar=argument.metavar,
        help=argument.help,
        autocompletion=_completion(argument),
        show_default=False,
    )
    if argument.required:
        return Annotated[kind, info], inspect.Parameter.empty
    return Annotated[kind | None, info], None


def _typer_option(option: Option) -> tuple[Any, Any]:
    """Return the type of an option as Typer is told it, and its default."""
    kind, default = KINDS[option.takes]
    spellings = [option.spelling, option.short] if option.short else [option.spelling]
    if option.takes is Takes.SWITCH:
        spellings = [f"{option.spelling}/--no-{option.spelling.removeprefix('--')}"]
    names = option.completions() if option.lists_completions and option.completions else ()
    info = typer.Option(
        *spellings,
        help=f"{option.help}: {', '.join(names)}" if names else option.help,
        metavar=option.metavar if option.takes in (Takes.TEXT, Takes.TEXTS, Takes.NUMBER) else None,
        count=option.takes is Takes.MORE,
        autocompletion=_completion(option),
        show_default=option.shows_default,
    )
    return Annotated[kind, info], default if option.default is None else option.default


def _completion(parameter: Argument | Option) -> Callable[..., list[str]] | None:
    """Return what completes a word; None if nothing does."""
    names = parameter.completions
    if names is None:
        return None
    if isinstance(parameter, Argument) and parameter.completes_first:
        return lambda ctx, incomplete: (  # Typer looks at these names
            [] if ctx.params.get(parameter.name) else names_starting(names(), incomplete)
        )
    return lambda incomplete: names_starting(names(), incomplete)


def names_starting(names: Iterable[str], text: str) -> list[str]:
    """Return the names that go on from what is typed.

    >>> names_starting(["onnx", "onednn", "numpy"], "on")
    ['onnx', 'onednn']
    """
    return [name for name in names if name.startswith(text)]
