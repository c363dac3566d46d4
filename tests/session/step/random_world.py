"""A random world: routes and keys that fail, conversations, cancellations, changed settings."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel

from sidestep import (
    AttemptFailed,
    AttemptStarted,
    Failure,
    FailureKind,
    MoveHistory,
    ProviderError,
    Route,
    Sidestep,
    StepEnded,
    StepFailed,
    StepStarted,
)
from sidestep.session.event import Event
from sidestep.session.event_json import to_json
from sidestep.session.plan.sibling_map import reachable

from ...virtual import CommonClock

_SETTLED = 30
"""Turns of the event loop after which every task of a world waits for the clock again."""


class QuickClock(CommonClock):
    """Time that moves on after some turns of the loop, because nothing here waits for real."""

    async def settle(self) -> None:
        for _ in range(_SETTLED):
            await anyio.lowlevel.checkpoint()


K = FailureKind
TRANSIENT: tuple[dict[str, Any], ...] = (
    {"kind": K.OVERLOADED, "status": 529},
    {"kind": K.SERVER_ERROR, "status": 503},
    {"kind": K.SERVER_ERROR, "status": 500},
    {"kind": K.TIMEOUT},
    {"kind": K.NETWORK},
    {"kind": K.TRUNCATED},
    {"kind": K.EMPTY_RESPONSE},
    {"kind": K.UNKNOWN, "status": 502},
    {"kind": K.RATE_LIMIT, "status": 429},
    {"kind": K.RATE_LIMIT, "status": 429, "retry_after": 20.0},
    {"kind": K.RATE_LIMIT, "status": 429, "retry_after": 200.0},
    {"kind": K.QUOTA, "status": 429, "retry_after": 400.0},
)
LASTING: tuple[dict[str, Any], ...] = (
    {"kind": K.QUOTA, "status": 402},
    {"kind": K.AUTH, "status": 401},
    {"kind": K.AUTH, "status": 403},
    {"kind": K.NOT_FOUND, "status": 404},
    {"kind": K.BAD_REQUEST, "status": 400},
    {"kind": K.REQUEST_TOO_LARGE, "status": 413},
    {"kind": K.HISTORY_REJECTED, "status": 400},
    {"kind": K.TOOL_CALL_MALFORMED},
    {"kind": K.CONTEXT_OVERFLOW, "status": 400},
    {"kind": K.CONTENT_FILTER},
    {"kind": K.REFUSAL},
    {"kind": K.UNKNOWN},
)


@dataclass
class Trouble:
    """What a route, or one key there, answers during a span of time."""

    route: Route
    api_key_env: str | None
    begins: float
    ends: float
    fields: dict[str, Any]

    def hits(self, route: Route, key: str | None, now: float) -> bool:
        is_key = self.api_key_env in (None, key)
        return route == self.route and is_key and self.begins <= now < self.ends

    def failure(self, now: float, *, is_honest: bool) -> Exception:
        fields = dict(self.fields)
        if is_honest and "retry_after" in fields:
            fields["retry_after"] = max(1.0, self.ends - now)
        return ProviderError(Failure(message="no", **fields))


@dataclass
class Story:
    """What one step did, as a listener saw it."""

    limits: dict[str, Any]
    kept: Route | None = None
    """The sibling on which the conversation has to stay while it is healthy."""
    is_kept_healthy: bool = False
    events: list[tuple[float, Event]] = field(default_factory=list)
    ended: str | None = None
    answered: Route | None = None
    route: Route | None = None


class World:
    """A world that one seed describes.

    Args:
        is_kind: Every failure passes with time, nobody cancels, and the patience is long enough.
    """

    def __init__(self, seed: int, *, is_kind: bool = False) -> None:
        self.seed = seed
        self.is_kind = is_kind
        self.dice = dice = random.Random(seed)
        self.clock = QuickClock()
        providers = ["openrouter", "anthropic", "zai", "groq"][: dice.randint(1, 4)]
        self.routes = [
            Route(f"{dice.choice(providers)}/m{number}") for number in range(dice.randint(1, 4))
        ]
        self.keys = {
            name: [f"{name.upper()}_KEY_{at}" for at in range(dice.choice([1, 1, 2, 3]))]
            for name in providers
        }
        self.environ = {key: f"sk-secret-{key}" for keys in self.keys.values() for key in keys}
        self._configure()
        self.troubles = list(self._troubles())
        self.stories: dict[int, Story] = {}
        self.events: list[Event] = []
        self.changes: list[float] = []
        self.samples: list[tuple[float, dict[Route, float]]] = []
        self.successes: list[tuple[Route, float, float]] = []
        self.said: list[str] = []
        self.tasks_left = 0
        self.middleware = Sidestep.from_env(
            self.environ, clock=self.clock, rng=random.Random(seed), on_event=self._listen
        )

    def _configure(self) -> None:
        """Write a configuration, which replaces the one before."""
        dice = self.dice
        self.settings: dict[str, Any] = {
            "maxUpstreamRetryAttempts": dice.randint(0, 2),
            "maxFallbackAttempts": dice.randint(1, 3),
            "cooldownSeconds": dice.choice([0, 10, 60, 90]),
            "maxCooldownSeconds": dice.choice([90, 300, 3600]),
            "cooldownBackoff": dice.choice([1.0, 2.0]),
            "maxWaitSeconds": dice.choice([5, 60]),
            "patienceSeconds": 100_000 if self.is_kind else dice.choice([0, 45, 300, 3600]),
        }
        policies = ["step", "turn", "session"]
        self.settings["returnPolicy"] = policies[(self.seed + len(self.routes)) % 3]
        if dice.random() < 0.5:
            self.settings["fallbackOnErrors"] = [401, 402, 403, 404, 429, 500, 502, 503, 529]
        self.environ["SIDESTEP_FALLBACK_CONFIG"] = json.dumps({
            "fallbackModelsByModel": {
                route: dice.sample(others, len(others))
                for route in self.routes
                if (others := [each for each in self.routes if each != route])
                and dice.random() < 0.8
            },
            "providers": {
                name: {"wire": "openai-chat", "baseUrl": "http://x.test", "apiKeyEnv": keys}
                for name, keys in self.keys.items()
            },
            **self.settings,
        })  # fmt: skip

    def _troubles(self) -> Iterator[Trouble]:
        dice = self.dice
        for _ in range(dice.randint(4, 20)):
            route = dice.choice(self.routes)
            keys = self.keys[route.provider]
            kinds = TRANSIENT if self.is_kind or dice.random() < 0.7 else LASTING
            begins = dice.uniform(-50, 400)
            yield Trouble(
                route,
                dice.choice(keys) if dice.random() < 0.5 else None,
                begins,
                begins + dice.choice([5, 30, 100, 500]),
                dice.choice(kinds),
            )

    async def play(self) -> None:
        """Let every conversation take its steps, then let every cooldown end."""
        logger = logging.getLogger("sidestep")
        handler = _Listening(self.said)
        logger.addHandler(handler)
        try:
            tasks: list[Callable[[], Coroutine[Any, Any, None]]] = [
                self._conversation(self.dice.getrandbits(32))
                for _ in range(self.dice.randint(1, 6))
            ]
            self.tasks_left = len(tasks)
            await self.clock.play(*tasks, self._changing)
        finally:
            logger.removeHandler(handler)

    async def _changing(self) -> None:
        """Change the configuration now and then."""
        for _ in range(self.dice.choice([0, 0, 1, 3])):
            await self.clock.sleep(self.dice.uniform(10, 500))
            if not self.tasks_left:
                return
            self._configure()
            assert self.middleware.active
            self.changes.append(self.clock.now)
            self._sample()

    def _conversation(self, seed: int) -> Callable[[], Coroutine[Any, Any, None]]:
        dice = random.Random(seed)

        async def talk() -> None:
            await self.clock.sleep(dice.uniform(0, 60))
            last: Route | None = None
            for number in range(dice.randint(1, 4)):
                last = await self._step(dice, MoveHistory(route=last, turn=number % 3 > 0)) or last
                await self.clock.sleep(dice.choice([0.0, 5.0, 100.0]))
            self.tasks_left -= 1

        return talk

    async def _step(self, dice: random.Random, history: MoveHistory) -> Route | None:
        """Take a step, and return who answered."""
        patient = dice.random() < 0.5
        deadline = None if self.is_kind or patient else dice.uniform(1, 400)
        step = self.middleware.step(dice.choice(self.routes), deadline=deadline, history=history)
        story = self.stories[step.number] = Story(
            {**self.settings, "deadline": deadline, "began": self.clock.now},
            kept=self._kept(step.requested, history),
        )
        scope = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            if not self.is_kind and dice.random() < 0.2:
                group.start_soon(self._cancel, scope, dice.uniform(0.1, 300))
            with scope, suppress(StepFailed, ProviderError, TimeoutError):
                async for attempt in step:
                    async with attempt:
                        await self._call(attempt, dice)
                story.answered = attempt.route
            group.cancel_scope.cancel()
        story.route = step.route
        return story.answered

    def _kept(self, requested: Route, history: MoveHistory) -> Route | None:
        config, policy = self.middleware.config, self.settings["returnPolicy"]
        stays = policy == "session" or (policy == "turn" and history.turn)
        siblings = {} if config is None else config.fallback_models_by_model
        return (
            history.route
            if stays and history.route in set(reachable(requested, siblings))
            else None
        )

    async def _cancel(self, scope: anyio.CancelScope, after: float) -> None:
        await self.clock.sleep(after)
        scope.cancel()

    async def _call(self, attempt: Any, dice: random.Random) -> None:
        route, key = attempt.route, attempt.api_key_env
        began = self.clock.now
        key = key or self.keys[route.provider][0]
        trouble = next((each for each in self.troubles if each.hits(route, key, began)), None)
        if dice.random() < 0.3:
            attempt.emitted("x")
        await self.clock.sleep(dice.uniform(0.05, 3.0))
        if trouble is not None:
            raise trouble.failure(self.clock.now, is_honest=self.is_kind)
        self.successes.append((route, began, self.clock.now))

    def _listen(self, event: Event) -> None:
        now = self.clock.now
        self.events.append(event)
        self.said.append(json.dumps(to_json(event), default=str))
        number = getattr(event, "step", None)
        if number in self.stories:
            self.stories[number].events.append((now, event))
            if isinstance(event, StepStarted) and (kept := self.stories[number].kept) is not None:
                self.stories[number].is_kept_healthy = self.middleware.degraded.is_available(kept)
            if isinstance(event, StepEnded):
                self.stories[number].ended = event.error or "answered"
        self._sample()

    def _sample(self) -> None:
        now = self.clock.now
        left = self.middleware.degraded.snapshot()
        self.samples.append((now, {route: now + seconds for route, seconds in left.items()}))


class _Listening(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())


def failures_of(story: Story) -> Iterator[tuple[float, AttemptFailed]]:
    return ((at, event) for at, event in story.events if isinstance(event, AttemptFailed))


def starts_of(story: Story) -> Iterator[tuple[float, AttemptStarted]]:
    return ((at, event) for at, event in story.events if isinstance(event, AttemptStarted))
