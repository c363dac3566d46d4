"""The Chinese sentences in which unknown servers report an overflow.

Source: fengshao1227/ccg-workflow#69, liyupi/yucongming-java-sdk#11, read on 2026-11-30. The other
words are guessed from the Chinese for limits of other kinds; no public report of them was found.
"""

from __future__ import annotations

import re

_CHINESE = re.compile("[\u4e00-\u9fff]{2}")
_SUBJECT = re.compile(
    r"上下文|输入|提示词|对话|消息|会话|prompt|input|context|token", re.IGNORECASE
)
_TOO_LONG = re.compile(r"超过|超出|超长|过长|太长|超限|过大|大于|不能超|溢出")
_NOT_LENGTH = re.compile(
    r"频率|速率|限流|限速|每分钟|每秒|每天|每日|每月|每小时|配额|额度|余额|欠费|并发|套餐|次数|超时|调用量"
    r"|费用|账户|账号|QPS|[TR]PM|敏感|违规|图片|图像|文件|音频|视频|工具|函数|max_tokens|输出|温度",
    re.IGNORECASE,
)


def in_chinese(text: str) -> bool:
    """True if *text* holds two Chinese characters in a row."""
    return _CHINESE.search(text) is not None


def is_overflow_in_chinese(text: str) -> bool:
    """True if *text* means that the prompt is too long.

    >>> is_overflow_in_chinese("输入内容超过模型最大上下文长度")
    True
    >>> is_overflow_in_chinese("超过每分钟输入 token 限制")
    False
    """
    if _NOT_LENGTH.search(text) is not None:
        return False
    return _SUBJECT.search(text) is not None and _TOO_LONG.search(text) is not None
