"""Who is let in: those who have the token, and who come by a name that the server goes by."""

from __future__ import annotations

import re
from ipaddress import ip_address
from secrets import compare_digest, token_urlsafe
from urllib.parse import urlsplit

from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, visible

NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_.])?", re.I)
"""What the name of a host looks like. Addresses are read by the library."""


class Door(Record):
    """The names that the server goes by, and the token that its address ends in."""

    names: frozenset[str]
    token: str

    def why_shut(self, host: str, origin: str | None) -> str:
        """Return why a request is refused for its `Host` and `Origin`; nothing if it is not.

        A page of another site may send requests here, with its own `Origin`. One that moves its own name to this
        address comes with that name as its `Host`.

        >>> door = Door(frozenset({"box"}), "")
        >>> door.why_shut("127.0.0.1:8000", None), door.why_shut("box", "http://box")
        ('', '')
        >>> door.why_shut("evil.example", None), door.why_shut("box", "https://evil.example")
        ('this host is not served; its owner can add it: --allow-host NAME', 'another site may not use this one')
        """
        name = _host_name(host)
        if not (name in self.names or is_loopback(name)):
            return "this host is not served; its owner can add it: --allow-host NAME"
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return "another site may not use this one"
        return ""

    def opens_with(self, token: str | None) -> bool:
        """Say whether a token is the right one, in a time that does not tell how much of it is right."""
        return compare_digest((token or "").encode("utf-8", "replace"), self.token.encode())


def new_door(host: str, allowed: list[str]) -> Door:
    """Return a door for the address to listen on and further names; raise `ShapeError` (usage) for what is no name."""
    names = [_checked_name("--host", host), *(_checked_name("--allow-host", name) for name in allowed)]
    return Door(frozenset(names), token_urlsafe(32))


def _checked_name(option: str, name: str) -> str:
    if not NAME.fullmatch(name) and not _is_address(name):
        raise misuse(f"{option} is a host's name or address, without a port, not '{visible(brief(name))}'")
    return name.lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _host_name(host: str) -> str:
    """Return the name in a `Host` header, without its port; nothing if it holds anything else."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and parts.username is None and parts.port != -1 else ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Say whether a name or address is this machine's own.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    return name == "localhost" or (_is_address(name) and ip_address(name).is_loopback)


def url_host(host: str) -> str:
    """Return how an address is written in a browser: where the server listens everywhere, this machine's own.

    >>> url_host("::1"), url_host("box"), url_host("0.0.0.0")
    ('[::1]', 'box', '127.0.0.1')
    """
    if not _is_address(host):
        return host
    address = ip_address(host)
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host
