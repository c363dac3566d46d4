"""The turns of sessions that have one store: one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from ..store.store import Store


class StoreUse:
    """How one session uses its store, which another session may have as well.

    Args:
        store: The store; this keeps it alive, so that no other store gets its `id`.

    Attributes:
        is_in_turn: A turn of the session runs.
        may_differ: Another session may have changed the store since this one read it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_in_turn = False
        self.may_differ = False

    def take(self) -> None:
        """Use the store from now on.

        Raises:
            RuntimeError: A turn of another session uses it.
        """
        user = _last_users.get(id(self._store))
        if user is self:
            return
        if user is not None and user.is_in_turn:
            raise RuntimeError(
                "a turn of another session with the same store is running: wait for it, or give "
                "each session a store of its own"
            )
        _last_users[id(self._store)] = self
        self.may_differ = True


_last_users: WeakValueDictionary[int, StoreUse] = WeakValueDictionary()
"""Who used a store last, by the `id` of the store."""
