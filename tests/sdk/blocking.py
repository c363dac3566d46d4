"""One request with each library that an agent without an event loop calls, as its users write it.

Each call raises what the library raises; what an answer means is nobody's business here.
"""

from __future__ import annotations

import gzip
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

import requests
import urllib3

Call = Callable[[str, float], None]
"""Takes the address and the seconds to wait."""
BODY = b"{}"


def requests_whole(url: str, seconds: float) -> None:
    requests.post(url, BODY, timeout=seconds).raise_for_status()


def requests_streamed(url: str, seconds: float) -> None:
    with requests.post(url, BODY, timeout=seconds, stream=True) as response:
        response.raise_for_status()
        for _ in response.iter_lines():
            pass


def requests_session(url: str, seconds: float) -> None:
    """Retry as a session does that is told to."""
    with requests.Session() as session:
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=1))
        session.post(url, BODY, timeout=seconds).raise_for_status()


REFUSALS: list[urllib.error.HTTPError] = []
"""Those of urllib, which keep their connections open, for the body. A test closes them."""


def urllib3_whole(url: str, seconds: float) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        pool.request("POST", url, body=BODY, timeout=seconds)


def urllib3_retried(url: str, seconds: float) -> None:
    with urllib3.PoolManager(retries=1) as pool:
        pool.request("POST", url, body=BODY, timeout=seconds)


def urllib3_streamed(url: str, seconds: float) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        response = pool.request("POST", url, body=BODY, timeout=seconds, preload_content=False)
        for _ in response.stream():
            pass


def urllib_whole(url: str, seconds: float) -> None:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, BODY), timeout=seconds) as response:  # noqa: S310
            _unpack(response.read(), response.headers.get("content-encoding"))
    except urllib.error.HTTPError as error:
        REFUSALS.append(error)
        raise


def http_client(url: str, seconds: float) -> None:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request("POST", "/", BODY)
        response = connection.getresponse()
        _unpack(response.read(), response.headers.get("content-encoding"))
    finally:
        connection.close()


def _unpack(body: bytes, coding: str | None) -> None:
    if coding == "gzip":
        gzip.decompress(body)


CALLS: dict[str, Call] = {
    "requests": requests_whole,
    "requests streamed": requests_streamed,
    "requests session": requests_session,
    "urllib3": urllib3_whole,
    "urllib3 retried": urllib3_retried,
    "urllib3 streamed": urllib3_streamed,
    "urllib": urllib_whole,
    "http.client": http_client,
}
