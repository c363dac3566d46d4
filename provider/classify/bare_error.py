"""Errors without an object ``error``: a code beside a message, or FastAPI's ``detail``.

Source, read on 2026-11-30: SiliconFlow (666ghj/BettaFish#349); Baidu
(cloud.baidu.com/doc/WENXINWORKSHOP/s/tlmyncueh); FastChat, fastchat/serve/openai_api_server.py of
lm-sys/FastChat, which sends ``{"text": …, "error_code": …}`` in an event; FastAPI's ``detail``, as
Mistral's in Gitlawb/openclaude#739. The other names of codes and texts are guessed from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 6  # names in such an error
_ANSWER = frozenset({"choices", "candidates", "delta", "item", "content", "output", "object"})
_GOOD = (None, 0, "0", "", 200, "200", "success", "Success", "ok", "OK")
_CODES = ("code", "error_code", "errcode", "status_code")
_TEXTS = ("message", "msg", "error_msg", "errmsg", "detail", "text")


def is_bare_error(top: Mapping[str, object]) -> bool:
    """True if *top* has a code beside its message and no part of an answer, or only a detail.

    >>> is_bare_error({"code": 20015, "message": "too long", "data": None})
    True
    >>> is_bare_error({"code": 0, "message": "", "data": {}})
    False
    """
    if len(top) > _MOST or not _ANSWER.isdisjoint(top):
        return False
    if top.keys() == {"detail"}:
        return True
    has_code = any(top.get(name) not in _GOOD for name in _CODES)
    return has_code and any(isinstance(top.get(name), str) and top[name] for name in _TEXTS)
