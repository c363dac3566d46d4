"""Facts about the errors of MiniMax: a code in ``base_resp``, which can come with a 200.

Source: platform.minimax.io/docs/api-reference/errorcode, and github.com/openclaw/openclaw/issues
for the wordings, read on 2026-11-29; captures minimax_*.
"""

from __future__ import annotations

from ...fact import FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope

MINIMAX = FactTable(
    # The balance, and the plan of the account ("5-hour usage limit reached for Token Plan Starter":
    # MiniMax-AI/MiniMax-M2.7#36).
    money=(fact(K.QUOTA, code="1008 2056", scope=Scope.KEY),),
    overflow=facts(
        K.CONTEXT_OVERFLOW,
        r"(?:invalid params, )?context window exceeds limit",
        status="400 413 none",
    ),
    history=facts(
        K.HISTORY_REJECTED,
        r"(?:invalid params, )?tool (?:call|result|id)",
        r"(?:invalid params, )?(?:chat content is empty|messages? [^.]{0,40}role)",
        status="400 none",
    ),
    filter=(fact(K.CONTENT_FILTER, code="1026 1027"),),
    other=(
        # Its code is often 1000, which means unknown.
        fact(K.OVERLOADED, type="overloaded_error"),
        fact(K.RATE_LIMIT, code="1002 1039"),
        fact(K.TIMEOUT, code="1001"),
        fact(K.AUTH, code="1004 2049", scope=Scope.KEY),
        fact(K.SERVER_ERROR, code="1000 1013"),
        fact(K.BAD_REQUEST, code="2013"),
    ),
    statuses=stands_for(
        {
            400: "1026 1027 2013",
            401: "1004 2049",
            402: "1008",
            429: "1002 1039 2056",
            500: "1000 1013",
            504: "1001",
        }
    ),
    coded=(r"[^\n]{0,400}\((?P<code>\d{4})\)\s*\Z",),  # as in "insufficient balance (1008)"
)
