"""The errors of z.ai: what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .rows import K, Row, chat, check, claude

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidestep.provider.wire_name import Wire

ZAI_KINDS = {
    K.AUTH: "1000 1001 1002 1003 1004 1110 1111 1112 1220 1221 1222",
    K.QUOTA: "1113 1304 1308 1309 1310 1313",
    K.BAD_REQUEST: "1210 1212 1213 1214 1215",
    K.NOT_FOUND: "1211",
    K.SERVER_ERROR: "1234",
    K.CONTEXT_OVERFLOW: "1261",
    K.CONTENT_FILTER: "1301",
    K.RATE_LIMIT: "1302 1303",
    K.OVERLOADED: "1305",
}
ZAI_FORMS: list[tuple[str, int, Callable[[str], Any], Wire]] = [
    ("429", 429, lambda code: chat("x", None, code), "openai-chat"),
    ("in a 200", 200, lambda code: chat("x", None, int(code)), "openai-chat"),
    ("in brackets", 429, lambda code: claude(f"[{code}][x][1]", "rate_limit_error"), "anthropic"),
]
ROWS = [
    Row(f"z.ai, {code}, {form}", "zai", status, body(code), kind, wire=wire)
    for kind, codes in ZAI_KINDS.items()
    for code in codes.split()
    for form, status, body, wire in ZAI_FORMS
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_answer_is_what_its_provider_means(row: Row) -> None:
    check(row)
