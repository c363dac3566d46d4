"""The state of every route, as a plain value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...provider.route import Route
from ..plan.active_plan import ActivePlan
from ..plan.keyed_route import CLIENTS_KEY, ClientKey, KeyedRoute, TallyUnit
from .cooldown import State
from .degraded import DegradedRoutes
from .tally import AttemptTally, LastFailure, Tally, redact_failure

_MOST_KEYS = 64
"""How many clients' keys are looked at for one route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteStatus:
    """The state of one route, or of one of the keys that are sent to it.

    Args:
        api_key_env: The variable of the key; None: its provider has one key or none.
            ``the client's own key`` stands for the keys that clients of the local address have
            sent themselves, with the state of the one that is out longest.
        state: ``degraded`` during the cooldown; then ``due for a probe`` until the next step makes
            one, and ``probed`` while it does.
        seconds_left: Seconds until the cooldown ends; 0 if there is none.
        attempts: The attempts that have ended, cancelled ones among them.
        successes: The attempts that answered.
        last_failure: Why an attempt failed last; None: none has.
    """

    route: Route
    api_key_env: str | None = None
    state: State = "healthy"
    seconds_left: float = 0.0
    attempts: int = 0
    successes: int = 0
    last_failure: LastFailure | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What a `Sidestep` knows of its routes: those of its configuration, and those it has used.

    Args:
        left_out: How many further routes and keys it has used.
    """

    routes: tuple[RouteStatus, ...]
    left_out: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return this as plain data, for `json.dumps`."""
        return {"routes": [asdict(route) for route in self.routes]}

    def __str__(self) -> str:
        return "; ".join(map(_line, self.routes)) or "no route was used yet"


def status_of(
    active: ActivePlan, degraded: DegradedRoutes, tally: AttemptTally, *, most: int | None = None
) -> Status:
    """Return the state of each route of the plan, of the health map and of *tally*, in this order.

    Args:
        most: How many, at most; None: all.
    """
    tallies = tally.snapshot()
    used = (unit if isinstance(unit, Route) else unit[0] for unit in tallies)
    routes = dict.fromkeys((*planned_routes(active), *degraded.routes(), *used))
    clients, planned = degraded.clients_keys(), frozenset(planned_routes(active))
    keys: list[KeyedRoute] = []
    for route in routes:
        ours = active.keys.of(route)
        is_clients = (route, CLIENTS_KEY) in tallies
        is_theirs_alone = is_clients and route not in planned
        keys += (key for key in ours if not is_theirs_alone or key.tally_unit in tallies)
        keys += (clients_key_at(route, degraded, clients),) if is_clients else ()
    shown = tuple(_status(key, degraded, tallies, active.environ) for key in keys[:most])
    return Status(shown, len(keys) - len(shown))


def clients_key_at(
    route: Route, degraded: DegradedRoutes, clients: Mapping[str, Sequence[ClientKey]]
) -> KeyedRoute:
    """Return *route* with the client's key that is out longest, of those that failed last.

    Args:
        clients: The clients' keys that failed lately, by the provider or the route.
    """
    failed = (*clients.get(route.provider, ())[-_MOST_KEYS:], *clients.get(route, ())[-_MOST_KEYS:])
    keys = [KeyedRoute.of_client(route, key) for key in failed or (ClientKey(),)]
    return max(keys, key=lambda key: degraded.state_of(key)[1])


def _status(
    key: KeyedRoute,
    degraded: DegradedRoutes,
    tallies: Mapping[TallyUnit, Tally],
    environ: Mapping[str, str],
) -> RouteStatus:
    state, seconds_left = degraded.state_of(key)
    tally = tallies.get(key.tally_unit) or Tally()
    last = tally.last_failure
    return RouteStatus(
        route=key.route,
        api_key_env=key.api_key_env,
        state=state,
        seconds_left=seconds_left,
        attempts=tally.attempts,
        successes=tally.successes,
        last_failure=None if last is None else redact_failure(last, environ),
    )


def planned_routes(active: ActivePlan) -> Iterator[Route]:
    """Yield the routes that the configuration names, some of them twice."""
    plan = active.plan
    if plan is None:
        return
    for chain in plan.chains.values():
        for entry in chain:
            yield entry.route
    for route, siblings in plan.config.fallback_models_by_model.items():
        yield route
        yield from siblings


def _line(status: RouteStatus) -> str:
    """Return one route in a few words, as ``sidestep run`` prints it."""
    name = status.route if status.api_key_env is None else f"{status.route} {status.api_key_env}"
    state = (
        status.state if not status.seconds_left else f"{status.state} {status.seconds_left:.0f} s"
    )
    failure = status.last_failure
    last = ""
    if failure is not None:
        last = f", last {failure.kind}" + ("" if failure.status is None else f" {failure.status}")
    return f"{name} {state}, {status.successes} of {status.attempts} answered{last}"
