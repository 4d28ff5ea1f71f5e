"""What a page shows of the keys that are typed into it, and when: a timeline of every key.

`INSTRUMENT` runs in the page before its own scripts and records in `window.trace`, in milliseconds:
keys, messages to and from the server, changes of the shown text, and frames drawn after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.sentences import percentile

INSTRUMENT = """
window.trace = [];
const note = (kind, values) => trace.push({at: performance.now(), kind, ...values});
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(url) {
    super(url);
    this.addEventListener('message', (event) => {
      const {id, type, details} = JSON.parse(event.data);
      note('received', {id, type, times: details?.[0]?.sentences.at(-1)?.times_ms ?? null});
    });
  }
  send(text) {
    const {id, cancel} = JSON.parse(text);
    super.send(text);
    note(cancel ? 'cancelled' : 'sent', {id});
  }
};
document.addEventListener('input', (event) => {
  if (event.target.id === 'source' && event.target.value) note('key', {});
}, {capture: true});
document.addEventListener('DOMContentLoaded', () => {
  const target = document.querySelector('#target');
  let shown = '';
  new MutationObserver(() => {
    if (target.textContent === shown) return;
    shown = target.textContent;
    note('changed', {});
    requestAnimationFrame(() => setTimeout(() => note('drawn', {})));
  }).observe(target, {childList: true, characterData: true, subtree: true});
});
"""
_STAGES = ("page", "server", "shown", "drawn")
_TIMES = ("queue", "encode", "decode")


@dataclass(frozen=True)
class Wait:
    """Milliseconds of a key that changed the translation: from the key until its request is sent,
    to the server's first message, to the first new word in the document, and to the next frame.

    `times`: what the server says of the request's last sentence (queue, encode, decode), if the
    request came to its end.
    """

    page: float
    server: float
    shown: float
    drawn: float
    times: dict[str, float] | None

    @property
    def total(self) -> float:
        """From the key to its first new word in the document."""
        return self.page + self.server + self.shown


def waits_of(trace: Sequence[dict[str, Any]]) -> list[Wait]:
    """The waits of the keys that changed something.

    A key whose request was cancelled for a newer one waits for that one's words.
    """
    keys = [index for index, event in enumerate(trace) if event["kind"] == "key"]
    return [wait for index in keys if (wait := _wait_of(trace, index)) is not None]


def _wait_of(trace: Sequence[dict[str, Any]], key: int) -> Wait | None:
    """The wait of the key at this index; None if it changed nothing before the next key."""
    sent: dict[str, Any] | None = None
    first: dict[str, Any] | None = None
    is_over = False
    for index, event in enumerate(trace[key + 1 :], key + 1):
        if event["kind"] == "key" and is_over:
            return None
        if event["kind"] == "sent":
            sent, first, is_over = event, None, False
        elif event["kind"] == "received" and sent and event["id"] == sent["id"]:
            first, is_over = first or event, event["type"] != "token"
        elif event["kind"] == "changed" and sent and first:
            return _measured(trace[key], sent, first, trace[index:])
    return None


def _measured(
    key: dict[str, Any],
    sent: dict[str, Any],
    first: dict[str, Any],
    rest: Sequence[dict[str, Any]],
) -> Wait:
    """`rest`: the events from the change on."""
    changed = rest[0]
    drawn = next((event for event in rest if event["kind"] == "drawn"), changed)
    finals = (event for event in (first, *rest) if event.get("id") == sent["id"])
    return Wait(
        sent["at"] - key["at"],
        first["at"] - sent["at"],
        changed["at"] - first["at"],
        drawn["at"] - changed["at"],
        next((event["times"] for event in finals if event.get("times")), None),
    )


def timeline(waits: Sequence[Wait]) -> str:
    """The median and the 95th percentile of each stage, and the server's own times."""
    stages = {name: [getattr(wait, name) for wait in waits] for name in _STAGES}
    told = [wait.times for wait in waits if wait.times]
    stages |= {f"  {name}": [times[name] for times in told] for name in _TIMES}
    return "\n".join(
        f"    {name:9} p50 {percentile(values, 50):6.1f} ms, p95 {percentile(values, 95):6.1f} ms"
        for name, values in stages.items()
    )
