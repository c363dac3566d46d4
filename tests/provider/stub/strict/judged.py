"""Helpers for the tests of the judge."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from sidestep.provider.route import Route
from sidestep.provider.stub.signature.issuer import Issuer
from sidestep.provider.stub.strict.judge import complaint

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from sidestep.provider.stub.strict.complaint import Complaint
    from sidestep.provider.wire_name import Wire

ISSUER = Issuer()
Body = dict[str, Any]
Change = Callable[[Body], object]


@dataclass(frozen=True)
class Rule:
    """One rule: a body that keeps it, a change that breaks it, and the message that follows.

    Args:
        breaks: Changes the body.
        says: A part of the message. None: the changed body is accepted too.
        make: Returns the body that keeps the rule.
        code: The complaint's code or its status.
    """

    id: str
    breaks: Change
    says: str | None
    make: Callable[[], Body]
    route: str
    vendor: str
    wire: Wire
    code: str | int | None = field(default=None)


def judge(body: object, *, route: str, vendor: str, wire: Wire) -> Complaint | None:
    said: Any = body
    return complaint(said, route=Route(route), vendor=vendor, wire=wire, issuer=ISSUER)


def rows(rules: list[Rule]) -> list[ParameterSet]:
    return [pytest.param(rule, id=rule.id) for rule in rules]


def check(rule: Rule) -> None:
    """Assert that the body is accepted, and refused once it breaks the rule."""
    body = rule.make()
    broken = deepcopy(body)
    rule.breaks(broken)

    kept = judge(body, route=rule.route, vendor=rule.vendor, wire=rule.wire)
    found = judge(broken, route=rule.route, vendor=rule.vendor, wire=rule.wire)

    assert kept is None
    if rule.says is None:
        assert found is None
        return
    assert found is not None
    assert rule.says in found.message
    if rule.code is not None:
        assert rule.code in {found.code, found.status}
