"""Run a command line without the modules, functions and signals of POSIX: `python tests/without_posix.py WORDS...`."""

from __future__ import annotations

import builtins
import os
import signal
import sys

MODULES = {"fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty"}
FUNCTIONS = ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "posix_fallocate", "O_TMPFILE", "getuid")
SIGNALS = ("SIGHUP", "SIGALRM", "SIGCONT", "SIGTSTP", "SIGQUIT")


def remove_posix_features():
    """Remove the POSIX functions, signals and TERM, and make imports of POSIX modules in shapecalc fail."""
    for module, names in ((os, FUNCTIONS), (signal, SIGNALS)):
        for name in names:
            vars(module).pop(name, None)
    os.environ.pop("TERM", None)
    import_module = builtins.__import__

    def import_or_raise(name, globals=None, *rest, **named):
        if name in MODULES and str((globals or {}).get("__name__")).startswith("shapecalc"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name, globals, *rest, **named)

    builtins.__import__ = import_or_raise


if __name__ == "__main__":
    remove_posix_features()
    from shapecalc.__main__ import main

    sys.exit(main())
