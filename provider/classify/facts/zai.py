"""Facts about the errors of z.ai, in both of its wires: a code of four digits.

Everything about the account comes with HTTP 429, so that the code decides.

Source: docs.z.ai/api-reference/api-code, and github.com/anomalyco/opencode/issues for what the
codes look like in practice, read on 2026-11-29; captures zai_*.
"""

from __future__ import annotations

from ...fact import FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope
from ..time_text import CHINESE_DATE

ZAI = FactTable(
    money=(
        # No balance, a window used up, plan expired, limit of week or month, unfair use: all of
        # the account or of its plan (docs.z.ai/api-reference/api-code). Then a day's calls made.
        fact(K.QUOTA, code="1113 1308 1309 1310 1313", scope=Scope.KEY),
        fact(K.QUOTA, code="1304"),
    ),
    overflow=(
        fact(K.CONTEXT_OVERFLOW, code="1261"),
        *facts(
            K.CONTEXT_OVERFLOW,
            r"Prompt (?:is )?too long|Prompt exceeds max length",
            status="400 413 none",
        ),
    ),
    filter=(fact(K.CONTENT_FILTER, code="1301"),),
    other=(
        fact(K.RATE_LIMIT, code="1302 1303"),
        fact(K.OVERLOADED, code="1305"),
        fact(K.OVERLOADED, text=r"The service may be temporarily overloaded", status="429 none"),
        # The key or the account; then permissions for one API.
        fact(K.AUTH, code="1000 1001 1002 1003 1004 1110 1111 1112", scope=Scope.KEY),
        fact(K.AUTH, code="1220 1221 1222"),
        fact(K.NOT_FOUND, code="1211"),
        fact(K.BAD_REQUEST, code="1210 1212 1213 1214 1215"),
        fact(K.SERVER_ERROR, code="1234"),
    ),
    statuses=stands_for(
        {
            400: "1210 1211 1212 1213 1214 1215 1261 1301",
            401: "1000 1001 1002 1003 1004",
            429: "1110 1111 1112 1113 1302 1303 1304 1308 1309 1310 1313",
            403: "1220 1221 1222",
            500: "1234",
            503: "1305",
        }
    ),
    stops={
        "sensitive": K.CONTENT_FILTER,
        "network_error": K.SERVER_ERROR,
        "model_context_window_exceeded": K.CONTEXT_OVERFLOW,
    },
    waits=(
        r"(?:\b(?:reset|refreshed|renewed|restored|available) (?:at|on|after) |将在 ?"
        r"|(?:重置|恢复|刷新)时间(?:为|是)?[:\uff1a]? ?)(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)",
        # "…, after TIME it can be used again", as bigmodel.cn says it.
        r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ?(?:之?后|以后|起|重置|恢复|刷新)",
        # The same with a Chinese date, for which no public report was found.
        rf"(?P<at>{CHINESE_DATE}) ?(?:之?后|以后|起|重置|恢复|刷新|可)",
        rf"(?:重置|恢复|刷新)时间(?:为|是)?[:\uff1a]? ?(?P<at>{CHINESE_DATE})",
    ),
    utc_offset=8,
    coded=(r"\[(?P<code>\d{4})\]",),  # as in "[1113][Insufficient balance][20261129...]"
)
