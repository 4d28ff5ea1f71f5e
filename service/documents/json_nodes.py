"""Where the values of JSON stand."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import regex

_TOKEN = regex.compile(
    r'(?P<string>"(?:[^"\\]++|\\[\s\S])*+")(?P<key>\s*+:)?|[\[\]{}]|[^\s\[\]{},:"]++'
)


@dataclass
class Node:
    """A value of JSON: text[start:end]; its key begins at `key`. `members`: of an object."""

    key: int
    start: int
    end: int = 0
    members: dict[str, Node] = field(default_factory=dict)


def read_nodes(text: str) -> Node:
    """The places of valid JSON. Elements of arrays have none."""
    root = Node(0, 0)
    opened, name, at = [root], "", 0
    for token in _TOKEN.finditer(text):
        mark = token.group()[0]
        if token["key"]:
            name, at = json.loads(token["string"]), token.start()
        elif mark in "]}":
            opened.pop().end = token.end()
        else:
            node = Node(at, *token.span())
            opened[-1].members[name] = node
            if mark in "[{":
                opened.append(node)
    return root.members[""]
