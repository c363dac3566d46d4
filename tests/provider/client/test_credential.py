"""A provider with several keys: which of them is sent, and what is shown of any."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING

import httpx
import pytest

from sidestep import Client, ProviderError, Route
from sidestep.provider.catalog.provider import Provider
from sidestep.provider.conversation import Conversation, Message, Text
from sidestep.provider.failure import FailureKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidestep.provider.client.reply import Reply

pytestmark = pytest.mark.asyncio

FIRST, SECOND, THIRD = "first-key-0123456789", "second/key.0123456789", "Third 0123456789"
ENVIRON = {"ONE": FIRST, "TWO": SECOND, "THREE": THIRD}
PROVIDERS = {
    "three": Provider("three", "openai-chat", "http://h", ("ONE", "TWO", "THREE")),
    "claude": Provider("claude", "anthropic", "https://api.anthropic.com", ("ONE", "TWO")),
    "one": Provider("one", "openai-chat", "http://h", "ONE"),
    "list": Provider("list", "openai-chat", "http://h", ("ONE",)),
    "open": Provider("open", "openai-chat", "http://h", None),
}
HELLO = Conversation([Message("user", [Text("Hello")])])
DONE = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Server:
    """A server that keeps what it is sent, and answers each request alike."""

    def __init__(
        self,
        environ: dict[str, str],
        answer: Callable[[httpx.Request], httpx.Response] = lambda _: httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=DONE
        ),
    ) -> None:
        self.requests: list[httpx.Request] = []
        self._answer = answer
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._keep))
        self.client = Client(http=http, providers=PROVIDERS, environ=environ)

    def _keep(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answer(request)

    @property
    def sent(self) -> list[str]:
        """The key of each request, or nothing."""
        headers = [each.headers for each in self.requests]
        return [
            each.get("x-api-key") or each.get("authorization", "").removeprefix("Bearer ")
            for each in headers
        ]

    def reply(self, route: str, api_key_env: str | None = None) -> Reply:
        return self.client.send(self.client.render(Route(route), HELLO), api_key_env=api_key_env)


async def read(reply: Reply) -> None:
    async with reply:
        async for _ in reply:
            pass


async def failure_of(reply: Reply) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await read(reply)
    return caught.value


@pytest.mark.parametrize(
    ("route", "asked", "environ", "sent"),
    [
        pytest.param("three/m", None, ENVIRON, FIRST, id="the first, if none is asked for"),
        pytest.param("three/m", "ONE", ENVIRON, FIRST, id="the first"),
        pytest.param("three/m", "TWO", ENVIRON, SECOND, id="the second"),
        pytest.param("three/m", "THREE", ENVIRON, THIRD, id="the last"),
        pytest.param("three/m", None, {"TWO": SECOND}, SECOND, id="the only one that is set"),
        pytest.param("three/m", None, {"ONE": " ", "TWO": SECOND}, SECOND, id="a blank one before"),
        pytest.param("three/m", "TWO", {"TWO": f" {SECOND}\n"}, SECOND, id="stripped"),
        pytest.param("one/m", "ONE", ENVIRON, FIRST, id="the only one"),
        pytest.param("list/m", "ONE", ENVIRON, FIRST, id="the only one of a list"),
        pytest.param("open/m", None, ENVIRON, "", id="none is needed"),
    ],
)
async def test_a_request_has_the_key_that_is_asked_for(
    route: str, asked: str | None, environ: dict[str, str], sent: str
) -> None:
    server = Server(environ)

    await read(server.reply(route, asked))

    assert server.sent == [sent]


async def test_each_request_reads_its_key_anew() -> None:
    environ = dict(ENVIRON)
    server = Server(environ)

    await read(server.reply("three/m", "TWO"))
    environ["TWO"] = "changed"
    await read(server.reply("three/m", "TWO"))

    assert server.sent == [SECOND, "changed"]


@pytest.mark.parametrize(
    ("route", "asked", "there"),
    [
        pytest.param("three/m", "FOUR", "give ONE or TWO or THREE", id="another"),
        pytest.param("three/m", "one", "give ONE or TWO or THREE", id="in another case"),
        pytest.param("three/m", "", "give ONE or TWO or THREE", id="nothing"),
        pytest.param("three/m", SECOND, "give ONE or TWO or THREE", id="a key"),
        pytest.param("one/m", "TWO", "give ONE", id="of a provider with one"),
        pytest.param("open/m", "ONE", "leave it out, because no key is needed", id="of none"),
    ],
)
async def test_a_variable_that_the_provider_does_not_have_is_refused(
    route: str, asked: str, there: str
) -> None:
    server = Server(ENVIRON)
    rendering = server.client.render(Route(route), HELLO)

    with pytest.raises(ValueError, match=there) as caught:
        server.client.send(rendering, api_key_env=asked)
    with pytest.raises(ValueError, match=there):
        await server.client.count(rendering, api_key_env=asked)

    assert SECOND not in str(caught.value)
    assert server.requests == []


@pytest.mark.parametrize(
    ("route", "asked", "environ", "message"),
    [
        pytest.param(
            "three/m", None, {}, "neither ONE, TWO nor THREE is set: set one of them to a key of",
            id="none is set",
        ),
        pytest.param("claude/m", None, {"ONE": ""}, "neither ONE nor TWO is set", id="blank"),
        pytest.param("one/m", None, {}, "ONE is not set: set it to a key of one", id="the only"),
        pytest.param(
            "three/m", "TWO", {"ONE": FIRST}, "TWO is not set: set it to a key of three",
            id="the one that is asked for",
        ),
        pytest.param(
            "claude/m", "TWO", {}, "neither ONE nor TWO is set: set one of them to a key of claude",
            id="none is set, and one is asked for",
        ),
        pytest.param(
            "three/m", "TWO", ENVIRON | {"TWO": "a\nb"}, "TWO holds characters that no key has",
            id="one that cannot be sent",
        ),
        pytest.param(
            "three/m", None, ENVIRON | {"ONE": "ä"}, "ONE holds characters", id="the first cannot"
        ),
    ],
)  # fmt: skip
async def test_a_missing_key_is_a_failure_that_names_its_variable(
    route: str, asked: str | None, environ: dict[str, str], message: str
) -> None:
    server = Server(environ)

    failure = (await failure_of(server.reply(route, asked))).failure

    assert failure.message.startswith(message)
    assert (failure.kind, failure.status) == (FailureKind.AUTH, 401)
    assert server.requests == []


@pytest.mark.parametrize(
    ("route", "environ", "why"),
    [
        pytest.param("three/m", {"THREE": THIRD}, None, id="one is enough"),
        pytest.param("three/m", ENVIRON, None, id="all"),
        pytest.param("open/m", {}, None, id="none is needed"),
        pytest.param("one/m", {}, "ONE is not set", id="the only one"),
        pytest.param("list/m", {}, "ONE is not set", id="the only one of a list"),
        pytest.param("claude/m", {}, "neither ONE nor TWO is set", id="two"),
        pytest.param("three/m", {"ONE": " "}, "neither ONE, TWO nor THREE is set", id="three"),
    ],
)
async def test_a_route_is_served_if_one_key_is_set(
    route: str, environ: dict[str, str], why: str | None
) -> None:
    client = Client(providers=PROVIDERS, environ=environ)

    assert client.why_unserved(Route(route)) == why
    assert client.serves(Route(route)) is (why is None)


@pytest.mark.parametrize("asked", [None, "TWO", "THREE"])
@pytest.mark.parametrize("status", [401, 200], ids=["answer", "stream"])
async def test_no_key_of_the_provider_stands_in_a_failure(asked: str | None, status: int) -> None:
    said = f"not {FIRST}, nor {SECOND} nor {THIRD}"
    body = json.dumps({"error": {"message": said, "code": THIRD}})
    kind = "application/json" if status == 401 else "text/event-stream"
    headers = {"content-type": kind, "x-request-id": f"{FIRST} {SECOND}"}
    text = body if status == 401 else f"data: {body}\n\n"
    server = Server(
        ENVIRON, lambda _: httpx.Response(status, headers=headers, content=text.encode())
    )

    error = await failure_of(server.reply("three/m", asked))

    assert "not [key], nor [key] nor [key]" in error.failure.message
    assert error.failure.request_id == "[key] [key]"
    shown = "".join(traceback.format_exception(error)) + repr(error.failure)
    assert not any(key in shown for key in ENVIRON.values())


@pytest.mark.parametrize("quoted", [FIRST, SECOND, THIRD], ids=["first", "second", "third"])
async def test_a_cause_that_quotes_any_key_is_not_chained(quoted: str) -> None:
    def break_off(_: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError(f"illegal header {quoted}")

    error = await failure_of(Server(ENVIRON, break_off).reply("three/m", "TWO"))

    assert error.failure.cause is None
    assert quoted not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("asked", "environ", "sent"),
    [
        pytest.param(None, ENVIRON, [FIRST], id="the first"),
        pytest.param("TWO", ENVIRON, [SECOND], id="the second"),
        pytest.param(None, {"TWO": SECOND}, [SECOND], id="the one that is set"),
        pytest.param("ONE", {"TWO": SECOND}, [], id="the one that is not set"),
    ],
)
async def test_tokens_are_counted_with_the_key_that_is_asked_for(
    asked: str | None, environ: dict[str, str], sent: list[str]
) -> None:
    server = Server(environ, lambda _: httpx.Response(200, json={"input_tokens": 7}))
    rendering = server.client.render(Route("claude/claude-sonnet-5"), HELLO)

    count = await server.client.count(rendering, api_key_env=asked)

    assert count == (7 if sent else None)
    assert server.sent == sent
