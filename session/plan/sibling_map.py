"""Walk over the map of siblings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from ...provider.route import Route


def reachable(route: Route, siblings: Mapping[Route, Sequence[Route]]) -> Iterator[Route]:
    """Yield the siblings of *route* and theirs, nearest first: none twice, and not *route*."""
    seen = {route}
    ahead = deque([route])
    while ahead:
        for sibling in siblings.get(ahead.popleft(), ()):
            if sibling not in seen:
                seen.add(sibling)
                ahead.append(sibling)
                yield sibling
