"""Which requests of a watched client are model calls, and which provider they go to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import commonpath
from typing import TYPE_CHECKING, Any, Protocol

from ..catalog.provider import Provider
from ..json_value import listed, mapping, read_json

if TYPE_CHECKING:
    from ..wire_name import Wire

_PATHS: Mapping[str, Wire] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/v1/messages": "anthropic",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
"""The end of the path of a model call; a vendor or a gateway may put anything before it."""
_OTHER_PATHS = (
    *("/embeddings", "/moderations", "/rerank", "/speech", "/batches", "/compact"),
    *("/count_tokens", "/input_tokens", ":countTokens", ":embedContent"),
)
"""The end of the path of other requests that name a model and have an input."""
_STREAMING_PATH = ":streamGenerateContent"
_STREAM = b'"stream"'
_TRUE = re.compile(rb"\s*:\s*true")
_MOST_ADDRESSES = 256
"""The number of addresses that are remembered."""
_MODEL = b'"model"'
_AT_ONCE = 5
_RESULTS = ("tool", "function")
_STOPS = ("stop", "stop_sequences")
_INPUTS: Mapping[Wire, bytes] = {
    "anthropic": b'"messages"',
    "openai-chat": b'"messages"',
    "openai-responses": b'"input"',
    "gemini": b'"contents"',
}
"""The field with the conversation, beside the model."""


_Key = tuple[bytes, int | None, bytes]


class Url(Protocol):
    """An address of httpx or httpx2, as far as it is read here."""

    @property
    def raw_host(self) -> bytes:
        """The host."""

    @property
    def port(self) -> int | None:
        """The port, if it is written."""

    @property
    def raw_path(self) -> bytes:
        """The path and the query."""

    @property
    def path(self) -> str:
        """The path, without a query."""


class Request(Protocol):
    """A request of httpx or httpx2, as far as it is read here."""

    method: str
    extensions: Any
    headers: Any

    @property
    def url(self) -> Url:
        """The address."""

    @property
    def content(self) -> bytes:
        """The body; it raises an exception if the body is a stream."""


@dataclass(slots=True)
class ModelCall:
    """A request that looks like a model call.

    Args:
        is_certain: The body has a model and a conversation; otherwise only the answer can show what
            it is.
        asks_stream: It seems to ask for an answer that is streamed: see `is_for_stream`.
        sent_at: When it was sent, in monotonic seconds.
        read_timeout: The seconds that its client waits for a block; None: without a limit.
    """

    provider: Provider
    content: bytes
    is_certain: bool
    asks_stream: bool
    url: str
    sent_at: float = 0.0
    read_timeout: float | None = None

    @property
    def first_output_seconds(self) -> float:
        """The seconds that the first output may take.

        An answer that is not streamed may take five times as long, because all of it comes at once.
        """
        first = self.provider.timeouts.first_event
        return first if self.asks_stream else _AT_ONCE * first

    @property
    def is_for_stream(self) -> bool:
        """True if it asks for a stream, and not only a call of a tool in its history."""
        return self.provider.wire == "gemini" or self._body.get("stream") is True

    @property
    def _body(self) -> Mapping[str, Any]:
        """The body; it is read only if a rare question needs it."""
        try:
            return mapping(read_json(self.content))
        except ValueError:
            return {}

    @property
    def key(self) -> tuple[str, int]:
        """Return a value that is the same for a repetition of this request."""
        return self.url, hash(self.content)

    @property
    def may_end_empty(self) -> bool:
        """True if an answer without any output is no failure.

        The model may write nothing after results of tools, or if the request names words that end
        the answer.
        """
        body = self._body
        settings = mapping(body.get("generationConfig"))
        if any(map(body.get, _STOPS)) or settings.get("stopSequences"):
            return True
        history = body.get("messages") or body.get("contents") or body.get("input")
        return _are_results(mapping(listed(history)[-1])) if listed(history) else False


def _are_results(last: Mapping[str, Any]) -> bool:
    if last.get("role") in _RESULTS or str(last.get("type")).endswith("_output"):
        return True
    parts = listed(last.get("content")) or listed(last.get("parts"))
    return any(_is_result(mapping(part)) for part in parts)


def _is_result(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "tool_result" or "functionResponse" in part


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of requests.

    Args:
        may_be_call: Model calls can go there.
        is_known: Its path is that of model calls.
        streams: It always answers with a stream.
    """

    url: str
    provider: Provider
    may_be_call: bool
    is_known: bool
    streams: bool


class CallFinder:
    """Recognises model calls.

    Args:
        providers: The known providers, with their timeouts and the words of their failures.
        wire: The wire of calls to unknown addresses; None: such calls are not judged.
    """

    def __init__(self, providers: Mapping[str, Provider], wire: Wire | None) -> None:
        self._by_wire: dict[Wire, list[Provider]] = {}
        for provider in providers.values():
            self._by_wire.setdefault(provider.wire, []).append(provider)
        self._wire = wire
        self._addresses: dict[_Key, _Address] = {}

    def find(self, request: Request, earlier: ModelCall | None = None) -> ModelCall | None:
        """Return the model call that *request* is; None: it is none.

        Args:
            earlier: The call that was redirected to it, with the same body.
        """
        if request.method != "POST":
            return None
        url = request.url
        key = url.raw_host, url.port, url.raw_path
        address = self._addresses.get(key) or self._address(key, str(url), url.path)
        if not address.may_be_call:
            return None
        wire = address.provider.wire
        content = _content_of(request) or (b"" if earlier is None else earlier.content)
        is_certain = _INPUTS[wire] in content and (wire == "gemini" or _MODEL in content)
        if not (address.is_known or is_certain):
            return None
        return ModelCall(
            provider=address.provider,
            content=content,
            is_certain=is_certain,
            asks_stream=address.streams or (wire != "gemini" and _asks_stream(content)),
            url=address.url,
        )

    def _address(self, key: _Key, url: str, path: str) -> _Address:
        """Return what is known about the address *url*, and remember it."""
        path = path.rstrip("/")
        wire = next((wire for end, wire in _PATHS.items() if path.endswith(end)), None)
        provider = self._provider_of(url, wire or self._wire or "openai-chat")
        may_be_call = wire is not None or not (self._wire is None or path.endswith(_OTHER_PATHS))
        streams = path.endswith(_STREAMING_PATH)
        found = _Address(url, provider, may_be_call, is_known=wire is not None, streams=streams)
        if len(self._addresses) < _MOST_ADDRESSES:
            self._addresses[key] = found
        return found

    def _provider_of(self, url: str, wire: Wire) -> Provider:
        """Return the known provider at *url*, or one of its host."""
        base = url.partition("?")[0].rpartition("/")[0]
        origin = _origin_of(url)
        known = [p for p in self._by_wire.get(wire, ()) if _origin_of(p.base_url) == origin]
        unknown = Provider(origin.rpartition("/")[2], wire, base, None)
        # Some SDKs send a part of the path that belongs to the base URL of others.
        return max(known, key=lambda p: len(commonpath((p.base_url, url))), default=unknown)


def _asks_stream(content: bytes) -> bool:
    at = content.rfind(_STREAM)
    return at >= 0 and _TRUE.match(content, at + len(_STREAM)) is not None


def _origin_of(url: str) -> str:
    """Return the scheme and the host of *url*, without what may be secret in it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}".lower()


def _content_of(request: Request) -> bytes:
    try:
        return request.content
    except Exception:  # noqa: BLE001 - a body that is streamed; each library has its own class
        return b""
