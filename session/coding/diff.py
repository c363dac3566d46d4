"""What a person is shown of a change to a file."""

from __future__ import annotations

import difflib
import re

MOST_SHOWN = 400
"""Lines of a diff."""
LONGEST_SHOWN = 500
"""Characters of a line."""
MOST_COMPARED = 2000
"""Lines; more are shown as replaced, all of them."""
_CONTEXT = 3


def diff_of(name: str, before: bytes | None, after: bytes) -> str:
    """Return what changes as a unified diff, its first 400 lines.

    Args:
        before: None: there is no file yet.
    """
    if before is not None and b"\0" in before:
        return f"(a binary file of {len(before):,} bytes is replaced by {len(after):,} bytes)"
    header = [f"--- {'/dev/null' if before is None else f'a/{name}'}", f"+++ b/{name}"]
    lines = [*header, *_hunks(_lines(before or b""), _lines(after))]
    shown = [_cut(line) for line in lines[:MOST_SHOWN]]
    if len(lines) > MOST_SHOWN:
        shown.append(f"… {len(lines) - MOST_SHOWN:,} more lines are not shown")
    return "\n".join(shown)


def _lines(content: bytes) -> list[str]:
    *lines, last = content.decode(errors="replace").split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Compare only what is between the first and the last change, because comparing is slow."""
    most = min(len(old), len(new))
    same = next((at for at in range(most) if old[at] != new[at]), most)
    ends = (at for at in range(most - same) if old[-1 - at] != new[-1 - at])
    end = next(ends, most - same)
    if max(len(old), len(new)) - same - end > MOST_COMPARED:
        old, new = old[same : len(old) - end], new[same : len(new) - end]
        head = f"@@ -{same + 1},{len(old)} +{same + 1},{len(new)} @@"
        return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    skipped, left = max(0, same - _CONTEXT), max(0, end - _CONTEXT)
    old, new = old[skipped : len(old) - left], new[skipped : len(new) - left]
    lines = list(difflib.unified_diff(old, new, n=_CONTEXT, lineterm=""))[2:]
    return [_moved(line, skipped) if line.startswith("@@ ") else line for line in lines]


def _moved(head: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda place: f"{place[1]}{int(place[2]) + by}", head)


def _cut(line: str) -> str:
    if len(line) <= LONGEST_SHOWN:
        return line
    return f"{line[:LONGEST_SHOWN]}… ({len(line) - LONGEST_SHOWN:,} more characters)"
