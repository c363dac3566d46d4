"""Our own client with the proxies of the environment, on real sockets."""

from __future__ import annotations

import logging

import anyio
import anyio.abc
import httpx
import pytest

from sidestep import Client, ConfigError
from sidestep.provider.client.environment_client import environment_client

from ...virtual import virtual_backend
from .test_reply import ENVIRON, listening, providers, read, send_all

ORBSTACK = "localhost,127.0.0.0/8,127.0.0.1,0.250.250.0/24,fd07:b51a:cc66:f0::/64,.orb.local"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    return virtual_backend(str(request.param))


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


READABLE = [
    pytest.param("127.0.0.1,::1", id="what httpx can read"),
    pytest.param("127.0.0.1,::1/128", id="one address as a range"),
    pytest.param("127.0.0.1,[::1]", id="an address in brackets"),
    pytest.param("127.0.0.1,[::1]:8080,fe80::/10", id="a port, and a range"),
    pytest.param(ORBSTACK, id="OrbStack"),
    pytest.param("fe80::%en0/64 , 127.0.0.1,", id="a zone"),
]


@pytest.mark.anyio
@pytest.mark.parametrize("no_proxy", READABLE)
async def test_requests_go_through_the_proxy_or_past_it(
    no_proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []

    async def proxy(stream: anyio.abc.SocketStream) -> None:
        reached.append("proxy")
        await send_all(stream)

    async def server(stream: anyio.abc.SocketStream) -> None:
        reached.append("server")
        await send_all(stream)

    with anyio.fail_after(60):
        async with listening(proxy) as through, listening(server) as url:
            monkeypatch.setenv("HTTP_PROXY", through)
            monkeypatch.setenv("NO_PROXY", no_proxy)
            for base_url in (url, "http://models.invalid"):
                async with Client(providers=providers(base_url), environ=ENVIRON) as client:
                    await read(client)

    assert reached == ["server", "proxy"]


@pytest.mark.anyio
async def test_no_proxy_with_a_star_means_no_proxy_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with anyio.fail_after(60):
        async with listening(send_all) as url:
            monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
            monkeypatch.setenv("NO_PROXY", "models.invalid, *")
            async with Client(providers=providers(url), environ=ENVIRON) as client:
                assert (await read(client)).parts


@pytest.mark.parametrize(
    ("no_proxy", "left_out"),
    [("::1/128,[::1]", []), (ORBSTACK, ["fd07:b51a:cc66:f0::/64"]), ("fe80::/10", ["fe80::/10"])],
    ids=["addresses", "a range among others", "a range"],
)
def test_a_range_that_cannot_be_read_is_left_out_with_a_warning(
    no_proxy: str,
    left_out: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("NO_PROXY", no_proxy)

    with caplog.at_level(logging.WARNING):
        environment_client()

    warned = [record.getMessage() for record in caplog.records]
    assert warned == [
        f"NO_PROXY has {host!r}, which httpx cannot read: it is left out" for host in left_out
    ]


@pytest.mark.parametrize(
    ("variables", "culprit"),
    [
        ({"HTTP_PROXY": "ftp://h"}, "fix HTTP_PROXY"),
        ({"ALL_PROXY": "http://h:x"}, "fix ALL_PROXY"),
        ({"HTTPS_PROXY": "http://h:x", "HTTP_PROXY": "http://h"}, "fix HTTPS_PROXY"),
        ({"HTTP_PROXY": "http://h:x", "NO_PROXY": "::1/128"}, "fix HTTP_PROXY"),
        ({"SSL_CERT_FILE": "/nowhere/ca.pem", "HTTP_PROXY": "http://h"}, "fix SSL_CERT_FILE"),
        ({"SSL_CERT_FILE": "/nowhere/ca.pem", "NO_PROXY": "::1/128"}, "fix SSL_CERT_FILE"),
    ],
)
def test_the_error_names_the_variable_that_is_wrong(
    variables: dict[str, str], culprit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError) as caught:
        environment_client()

    assert str(caught.value).endswith(culprit)


@pytest.mark.parametrize(
    ("no_proxy", "address", "is_direct"),
    [
        ("::1", "http://[::1]:8080/", True),
        ("[::1]:8080", "http://[::1]:8080/", True),
        ("[::1]:8080", "http://[::1]:8081/", False),
        ("[fd00::1]/128", "http://[fd00::1]/", True),
        ("::ffff:10.0.0.1", "http://[::ffff:10.0.0.1]/", True),
        ("fe80::1%lo0,localhost", "http://localhost:1234/", True),
        ("fd00::/8,models.example", "http://models.example/", True),
        ("::1/129,models.example", "http://models.example/", True),
        ("models.example:99999,b.example", "http://b.example/", True),
        ("*.local", "http://a.local/", True),
        ("*.example.com", "http://a.b.example.com/", True),
        ("*.example.com", "http://example.org/", False),
        (".example.com", "http://a.example.com/", True),
        ("<local>,127.0.0.1", "http://127.0.0.1:9/", True),
        ("a;b", "http://a/", False),
        ("https://internal", "http://internal/", False),
        ("[::1", "http://a/", False),
        (",,", "http://a/", False),
        ("*", "http://a/", True),
    ],
)
def test_whatever_no_proxy_has_a_client_can_be_made(
    no_proxy: str, address: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", no_proxy)

    client = environment_client()

    chosen = client._transport_for_url(httpx.URL(address))
    assert (chosen is client._transport) is is_direct


PROXIES = pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:1"], ids=["none", "a proxy"])


@PROXIES
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.anyio
async def test_a_cookie_is_neither_kept_nor_sent(
    stream: bool, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def server(stream: anyio.abc.SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n")

    if proxy is not None:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
    with anyio.fail_after(60):
        async with listening(server) as url, environment_client() as http:
            requests = [http.build_request("POST", url, content=b"{}") for _ in range(2)]
            for request in requests:
                response = await http.send(request, stream=stream)
                await response.aclose()
                assert response.headers["set-cookie"] == "a=b"

    assert not any("cookie" in request.headers for request in requests)


@PROXIES
@pytest.mark.anyio
async def test_a_name_and_a_password_in_an_address_become_a_header(
    proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if proxy is not None:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
    with anyio.fail_after(60):
        async with listening(send_all) as url, environment_client() as http:
            address = url.replace("http://", "http://me:secret@")
            request = http.build_request("POST", address, content=b"{}")
            await (await http.send(request, stream=True)).aclose()

    assert request.headers["authorization"] == "Basic bWU6c2VjcmV0"


@pytest.mark.anyio
async def test_an_error_and_a_response_know_their_request() -> None:
    async def server(stream: anyio.abc.SocketStream) -> None:
        await stream.aclose()

    async with environment_client() as http:
        with anyio.fail_after(60):
            async with listening(server) as url:
                request = http.build_request("POST", url, content=b"{}")
                with pytest.raises(httpx.RequestError) as caught:
                    await http.send(request, stream=True)
            async with listening(send_all) as url:
                answered = http.build_request("POST", url, content=b"{}")
                response = await http.send(answered, stream=True)
                await response.aclose()

    assert caught.value.request is request
    assert response.request is answered
