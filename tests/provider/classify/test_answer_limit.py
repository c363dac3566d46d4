"""The longest answer that a refusal names. Source: the issues named in `answer_limit`."""

from __future__ import annotations

import pytest

from sidestep.provider.classify.answer_limit import answer_limit

NAMED = [
    (
        "The parameter `max_tokens` specified in the request are not valid: integer above maximum "
        "value, expected a value <= 16384, but got 21333 instead. Request id: 0217526802057162e69a",
        16_384,
    ),
    (
        "Doubao-1.5-pro-32k Model Parameter max_tokens should be less than or equal to 12288.0",
        12_288,
    ),
    ("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]", 8_192),
    (
        "max_completion_tokens is too large: 262144. This model supports at most 256000 completion "
        "tokens.",
        256_000,
    ),
    ("max_new_tokens: 40000 exceeds the limit 8192", 8_192),  # made up
    ("The value of max_tokens must be between 1 and 8192", 8_192),  # made up
    (
        "Unable to submit request because it has a maxOutputTokens value of 100000 but the "
        "supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try.",
        65_536,
    ),
    ("The maximum tokens you requested exceeds the model limit of 4096", 4_096),
    ("max_tokens: Input should be less than or equal to 8192", 8_192),  # made up
    ("max_tokens exceeds the maximum of 4,096", 4_096),  # made up
    ("max_tokens (40000) exceeds model's maximum output tokens 32768", 32_768),
    ("max_tokens参数非法。取值范围[1,98304]", 98_304),  # made up
    ("max_tokens参数非法：限制数值范围[1,131072]", 131_072),  # noqa: RUF001
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
    ("max_completion_tokens range is [2, 4096]", 4_096),
    ("maxTokens: must be <= 4096", 4_096),  # made up
    ("Invalid value for max_tokens: 99999. Max allowed is 8192", 8_192),  # made up
    ("`max_tokens` must be greater than `thinking.budget_tokens` (16000)", None),
    ("max_tokens must be at least 1024", None),
    ("max_tokens must be at least 1, got -186", None),
    ("Unknown parameter: max_tokens_2048", None),
    ("input_tokens 140000 exceeds max_input_tokens 131072", None),
    ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 prompt tokens", None),
    ("temperature must be between 0 and 2", None),
]


@pytest.mark.parametrize(("message", "limit"), NAMED)
def test_the_smallest_number_beside_the_name_of_the_answer_is_its_limit(
    message: str, limit: int | None
) -> None:
    assert answer_limit(message) == limit
