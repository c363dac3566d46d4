"""A new httpx client from the environment, also where httpx cannot read ``NO_PROXY``.

httpx looks for proxies only for its own transports, and ours is another. Besides, httpx 0.28 fails
on an IPv6 range (``fd07::/64``, ``::1/128``) and on an address in brackets, as OrbStack, Docker
Desktop and VPNs set them.

Source: github.com/encode/httpx/issues/3221, github.com/orbstack/orbstack/issues/2456,
github.com/MoonshotAI/kimi-cli/issues/1959, github.com/basicmachines-co/basic-memory/issues/1541.
"""

from __future__ import annotations

import os
import ssl
from functools import partial
from ipaddress import AddressValueError, IPv6Address, IPv6Network
from urllib.request import getproxies

import httpx

from ..error import ConfigError
from ..log import logger
from .connections import ONE, Connections, most_connections
from .direct_client import DirectClient

_CANNOT = (ValueError, ImportError, OSError, httpx.InvalidURL)
_SCHEMES = ("http", "https", "all")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def environment_client() -> httpx.AsyncClient:
    """Return a client without deadlines that uses the proxies and certificates of the environment.

    Raises:
        ConfigError: What the environment says of proxies or certificates cannot be used.
    """
    try:
        certificates = httpx.create_ssl_context()
        return DirectClient(_connections(certificates, None), _mounts(certificates))
    except _CANNOT as error:
        raise ConfigError(
            f"httpx cannot be set up from the environment ({type(error).__name__}: {error}): "
            f"fix {_culprit()}"
        ) from error


def _mounts(certificates: ssl.SSLContext) -> dict[str, httpx.AsyncBaseTransport | None]:
    """Return the transports of the proxies, and None for each host that is reached without one."""
    proxies, direct = getproxies(), _direct_hosts()
    if "*" in direct:
        return {}
    mounts: dict[str, httpx.AsyncBaseTransport | None] = {
        f"{scheme}://": _connections(certificates, _with_scheme(proxies[scheme]))
        for scheme in _SCHEMES
        if proxies.get(scheme)
    }
    for host in direct:
        pattern = _pattern(host) or _address_pattern(host)
        if pattern is None:
            logger.warning("NO_PROXY has %r, which httpx cannot read: it is left out", host)
        else:
            mounts[pattern] = None
    return mounts


def _connections(certificates: ssl.SSLContext, proxy: str | None) -> Connections:
    """Return the connections through *proxy*; None: those without one."""
    new = partial(httpx.AsyncHTTPTransport, verify=certificates, limits=ONE, proxy=proxy)
    new()  # because it raises what is wrong with the proxy
    return Connections(new, most=most_connections())


def _direct_hosts() -> list[str]:
    """Return the hosts that are reached without a proxy."""
    return [host for each in getproxies().get("no", "").split(",") if (host := each.strip())]


def _pattern(host: str) -> str | None:
    """Return the pattern that httpx makes of *host*; None: it cannot read it."""
    if "://" in host:
        pattern = host
    elif _is_address(host):
        pattern = f"all://[{host}]" if ":" in host else f"all://{host}"
    else:
        host = host.removeprefix("*") if host.startswith("*.") else host
        pattern = f"all://{host}" if host.lower() == "localhost" else f"all://*{host}"
    try:
        httpx.URL(pattern)
    except _CANNOT:
        return None
    return pattern


def _is_address(host: str) -> bool:
    """True if httpx takes *host* for an address; it does not look at what follows a slash."""
    start = host.partition("/")[0]
    if ":" not in start:
        return start.replace(".", "").isdigit()
    try:
        IPv6Address(start)
    except AddressValueError:
        return False
    return True


def _address_pattern(host: str) -> str | None:
    """Return the pattern for *host*, one IPv6 address as a range or in brackets; else None."""
    address, bracket, port = host.removeprefix("[").partition("]")
    try:
        network = IPv6Network(address, strict=False)
        pattern = f"all://[{network.network_address}]{port if bracket else ''}"
        return pattern if network.prefixlen == 128 and httpx.URL(pattern) else None
    except _CANNOT:
        return None


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _culprit() -> str:
    """Return the variables of the environment that cannot be used."""
    proxies = getproxies()
    wrong = [
        f"{scheme.upper()}_PROXY"
        for scheme in _SCHEMES
        if proxies.get(scheme) and not _is_proxy(_with_scheme(proxies[scheme]))
    ]
    if wrong:
        return " and ".join(wrong)
    files = [name for name in _CERTIFICATES if os.environ.get(name)]
    named = [f"{scheme.upper()}_PROXY" for scheme in (*_SCHEMES, "no") if proxies.get(scheme)]
    return " or ".join(files or named) or "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE"


def _is_proxy(url: str) -> bool:
    try:
        httpx.AsyncHTTPTransport(proxy=url, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    except _CANNOT:
        return False
    return True
