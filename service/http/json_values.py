"""How many values JSON has, told before it is parsed: parsing makes an object of each."""

from __future__ import annotations


def count_values(body: bytes, max_values: int) -> int:
    """Count JSON values by separators outside strings. Where it says at most `max_values`, there
    are no more than it says."""
    if len(body) < max_values:
        return len(body) + 1
    num_values = _count_separators(body)
    if num_values <= max_values:
        return num_values
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    num_strings = unescaped.count(b'"') // 2
    if num_strings > 2 * max_values:  # a value has at most one key
        return (num_strings + 1) // 2
    return _count_separators(b"".join(unescaped.split(b'"')[::2]))


def _count_separators(text: bytes) -> int:
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")
