"""What Typer makes the group and its commands of: values stay as typed, and help is the same in every version of Typer.

From 0.29 on Typer imports pydantic before it reads the first value, even one that was left out, and that takes longer
than most answers. All values of the commands here are texts, lists of texts and switches, so there is nothing to
convert. Only names that are public in Click and in all versions of Typer since 0.27.2 are overridden.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

from shapecalc.cli.inputs import is_value
from shapecalc.cli.options import ALL


def take_as_typed(command: Any, context: Any) -> None:
    """Let every parameter of a command, `--help` among them, take its value as it was typed."""
    for param in command.get_params(context):
        param.process_value = partial(_process_value, param)


def _process_value(param: Any, context: Any, value: Any) -> Any:
    """Return the value of a parameter: a text, texts, or a switch. A required argument that is missing is a mistake."""
    if value is None and (param.multiple or param.nargs == -1):
        value = ()
    if param.required and value in (None, ()):
        context.fail(f"Missing argument '{param.metavar}'.")
    return value if param.callback is None else param.callback(context, param, value)


class ShapeCommand(TyperCommand):
    """A command whose values may start with `-` and a digit: `-1,4` is a shape, `--jsno` is a mistake."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a blank before values that look like options; whoever reads the value drops it."""
        take_as_typed(self, ctx)
        twice = {f"{name}{ALL}": name for param in self.params if getattr(param, "count", False) for name in param.opts}
        args = [each for word in args for each in ([twice[word]] * 2 if word in twice else [word])]
        end = args.index("--") if "--" in args else len(args)
        padded = [f" {word}" if word[:1] == "-" != word and is_value(word) else word for word in args[:end]]
        return super().parse_args(ctx, padded + args[end:])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what a shell offers for a word: of an option that can ask for everything, both ways to write it."""
        counted = [name for param in self.params if getattr(param, "count", False) for name in param.opts]
        offered = super().shell_complete(ctx, incomplete)
        more = [type(each)(f"{each.value}{ALL}", help=each.help) for each in offered if each.value in counted]
        return [*offered, *(each for each in more if each.value[:2] == "--")]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in its usage. From 0.29 on Typer puts more brackets there."""
        metavars = [str(param.metavar) for param in self.params if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(text if text[:1] == "[" else f"{{{text}}}" for text in metavars)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options. From 0.29 on Typer puts a type after an argument's name."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None:
                named = param.param_type_name == "argument"
                rows[param.param_type_name].append((str(param.metavar), row[1]) if named else row)
        for kind, listed in rows.items():
            if listed:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl(listed)


class InOrder(TyperGroup):
    """A group that lists its commands in the order in which they were added."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options that stand before the command as they were typed, `--show-completion` among them."""
        take_as_typed(self, ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands as they were added."""
        return list(self.commands)
