"""`shapecalc completion`: print the completion script of a shell."""

from __future__ import annotations

from shutil import which

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import Argument, Command
from shapecalc.cli.output import (
    COMPLETION_VARIABLE,
    PACKAGE_NAME,
    ExitCode,
    OutputOptions,
    print_stdout,
    report_exception,
)
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.text import lookup

SHELLS = ("bash", "zsh", "fish", "powershell")
"""The shells that have a completion script."""


def run_completion_command(shell: str, output_options: OutputOptions) -> int:
    """Print the completion script of a shell, and return the exit code."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # Typer calls it in its own callback

    try:
        lookup(shell, dict.fromkeys(SHELLS, ""), "shell")
    except ShapeError as error:
        return print_error(error, "completion", {"shell": shell}, output_options)
    print_stdout(get_completion_script(prog_name=PACKAGE_NAME, complete_var=COMPLETION_VARIABLE, shell=shell))
    return ExitCode.OK


def install_completion(shell: str) -> int:
    """Install the completion of a shell for this user, and return the exit code.

    The path of the script is printed.
    """
    from typer.completion import install  # type: ignore[attr-defined]  # Typer calls it in its own callback

    try:
        lookup(shell, dict.fromkeys(SHELLS, ""), "shell")
        if shell == "powershell" and which("pwsh") is None and which("powershell") is None:
            raise usage_error("powershell is not installed here", "shapecalc completion powershell prints the script")
        _, path = install(shell, PACKAGE_NAME, COMPLETION_VARIABLE)
    except OSError as error:
        return report_exception(error)
    except ShapeError as error:
        return print_error(error, "completion", {"shell": shell}, OutputOptions())
    print_stdout(f"{shell} completion installed in {path}; it works in new shells")
    return ExitCode.OK


COMPLETION_COMMAND = Command(
    run=run_completion_command,
    parameters=[Argument("shell", ", ".join(SHELLS), "SHELL", completions=lambda: SHELLS)],
    summary="Print the completion script of a shell.",
    examples="""\
  shapecalc completion bash > ~/.local/share/bash-completion/completions/shapecalc
  shapecalc completion zsh > ~/.zfunc/_shapecalc
  shapecalc completion fish > ~/.config/fish/completions/shapecalc.fish
  shapecalc completion powershell >> $PROFILE""",
    details=""" --install-completion installs it for the current shell. In zsh, the folder must be in fpath
before compinit runs: fpath+=~/.zfunc; autoload -Uz compinit; compinit. The powershell script has not been tested in
its shell.""",
)
