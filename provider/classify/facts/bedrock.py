"""Facts about the errors of Amazon Bedrock: the names of its exceptions.

A name is in the header ``x-amzn-errortype``, in ``__type`` of the body, or, inside a stream, the
key of the message.

Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, read on
2026-11-29; captures bedrock_*.
"""

from __future__ import annotations

from ...fact import FactTable, fact, facts, stands_for
from ...failure import FailureKind as K
from ...failure import Scope
from .anthropic import PLACE, REJECTED_FIELDS
from .anthropic import REJECTED as REJECTED_BY_CLAUDE
from .unknown_words import NO_TOOLS

_MODEL = r"(?:The model returned the following errors: )?"
REJECTED = (
    r"Expected toolResult blocks at messages",
    r"The number of toolResult blocks at messages",
    r"The tool(?:Use|Result) blocks at \S{1,80} contain duplicate Ids",
    r"The text field in the ContentBlock object at [^ ]{1,80} is blank",
)

BEDROCK = FactTable(
    money=(fact(K.QUOTA, type="ServiceQuotaExceededException"),),
    overflow=facts(
        K.CONTEXT_OVERFLOW,
        _MODEL + r"Input is too long for requested model",
        _MODEL + r"prompt is too long: \d",
        _MODEL + r"input length and `max_tokens` exceed",
        _MODEL + r"Input Tokens Exceeded: ",
        status="400 413 none",  # never a 429, which has similar words
    ),
    history=facts(
        K.HISTORY_REJECTED,
        *REJECTED,
        *(_MODEL + PLACE + text for text in REJECTED_BY_CLAUDE),
        *(_MODEL + text for text in REJECTED_FIELDS),
        status="400 none",
    ),
    other=(
        fact(K.RATE_LIMIT, type="ThrottlingException TooManyRequestsException"),
        fact(K.OVERLOADED, type="ServiceUnavailableException ModelNotReadyException"),
        fact(
            K.SERVER_ERROR,
            type="InternalServerException InternalFailure ModelErrorException "
            "ModelStreamErrorException",
        ),
        fact(K.TIMEOUT, type="ModelTimeoutException"),
        # Of the account's credentials; an access that is denied may be to one model.
        fact(
            K.AUTH,
            type="UnrecognizedClientException ExpiredTokenException InvalidSignatureException "
            "IncompleteSignature MissingAuthenticationTokenException",
            scope=Scope.KEY,
        ),
        fact(K.AUTH, type="AccessDeniedException", scope=Scope.KEY_ON_ROUTE),
        fact(K.NOT_FOUND, type="ResourceNotFoundException"),
        fact(
            K.HISTORY_REJECTED,
            text=_MODEL + f"(?:{NO_TOOLS})",
            status="400 none",
            lacks_capacity=True,
        ),
        # Both are a ValidationException, like any bad request.
        *facts(
            K.NOT_FOUND,
            r"The provided model identifier is invalid",
            r"Invocation of model ID \S{1,200} with on-demand throughput isn.t supported",
            status="400 none",
        ),
    ),
    statuses=stands_for(
        {
            400: "ValidationException ServiceQuotaExceededException",
            403: "AccessDeniedException UnrecognizedClientException ExpiredTokenException "
            "InvalidSignatureException",
            404: "ResourceNotFoundException",
            408: "ModelTimeoutException",
            424: "ModelErrorException ModelStreamErrorException",
            429: "ThrottlingException TooManyRequestsException ModelNotReadyException",
            500: "InternalServerException InternalFailure",
            503: "ServiceUnavailableException",
        }
    ),
)
