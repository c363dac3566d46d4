from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from sidestep.provider.secret import Secret, is_secret_name, redact_shapes

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param(f"bad key {KEY}.", "bad key [key].", id="inside"),
        pytest.param(f"{KEY}{KEY}", "[key][key]", id="twice"),
        pytest.param(f"bad key {KEY[:20]}…", "bad key [key]", id="cut"),
        pytest.param(f"bad key {KEY[:8]}", "bad key [key]", id="little of it"),
        pytest.param(f"bad key {KEY[:20]}… refused", "bad key [key] refused", id="cut inside"),
        pytest.param(f"'{KEY[:12]}', {KEY}, {KEY[:9]}.", "'[key]', [key], [key].", id="many times"),
        pytest.param(f"{KEY[:8]}another-0123456789", "[key]", id="another that begins as it does"),
        pytest.param(f"bad key {KEY[:7]}", f"bad key {KEY[:7]}", id="too little to tell"),
        pytest.param("bad key", "bad key", id="nothing of it"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_key_is_hidden(said: str, shown: str) -> None:
    assert Secret(KEY).redact(said) == shown


@pytest.mark.parametrize("size", range(8, 19))
@pytest.mark.parametrize("after", ["", ".", "…", "\nrefused", ")"])
def test_the_beginning_of_a_key_of_any_look_is_hidden(size: int, after: str) -> None:
    key = "a/b c.d+e f=g:h i,j"

    assert Secret(key).redact(f"no {key[:size]}{after}") == f"no [key]{after.lstrip('…')}"


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("sk-live-AAAA1111\nCCCC2222DDDD", id="a line break"),
        pytest.param("ab\nCCCC2222DDDD", id="a line break after little"),
        pytest.param("AAAA1111BBBB\r\nCCCC2222DDDD\r\nEEEE3333FFFF", id="several line breaks"),
        pytest.param("AAAA1111BBBB\tCCCC2222DDDD\x1b", id="a tab and an escape"),
        pytest.param("AAAA1111'CCCC2222\"DDDD3333\\EEEE4444", id="quotes and a backslash"),
        pytest.param("AAAA1111\u20acCCCC2222DDDD\u00e4", id="letters beyond ASCII"),
        pytest.param("AAAA1111/CCCC+2222=DDDD3333", id="what a URL escapes"),
        pytest.param("AAAA1111-CCCC2222-DDDD3333", id="nothing to escape"),
    ],
)
@pytest.mark.parametrize(
    "spell",
    [
        str,
        repr,
        lambda key: repr(key.encode()),
        ascii,
        json.dumps,
        lambda key: json.dumps(repr(key)),
        lambda key: " ".join(key.split()),
        quote,
        lambda key: quote(key, safe=""),
        quote_plus,
    ],
    ids=[
        "as it is", "repr", "bytes", "ascii", "JSON", "JSON of a repr", "in one line", "a path",
        "a part of a path", "a form",
    ],
)  # fmt: skip
def test_a_key_is_hidden_however_it_is_spelled(key: str, spell: Callable[[str], str]) -> None:
    shown = Secret(key).redact(f"Illegal header value {spell(key)}, sorry")

    assert not re.search("AAAA1111|CCCC|2222|DDDD|3333", shown)
    assert shown.startswith("Illegal header value ")
    assert shown.endswith(", sorry")


@pytest.mark.parametrize("key", ["my anthropic\nkey", "one two\nthree", "a\nb"])
def test_a_word_in_a_key_hides_no_word(key: str) -> None:
    assert Secret(key).redact("three anthropic b") == "three anthropic b"


@pytest.mark.parametrize(
    ("key", "said", "shown"),
    [
        pytest.param("k", "a marker, key k, and 'k'.", "a marker, key [key], and '[key]'.", id="1"),
        pytest.param("max", "maximum of max_tokens: max", "maximum of max_tokens: [key]", id="3"),
        pytest.param("a.b", "a.bc, a.b and axb", "a.bc, [key] and axb", id="no pattern"),
        pytest.param("-", "no key: -", "no key: [key]", id="no letter"),
        pytest.param("longer42", "xlonger42x", "x[key]x", id="long enough to be no part of a word"),
    ],
)
def test_a_short_key_is_hidden_where_it_is_no_part_of_a_word(
    key: str, said: str, shown: str
) -> None:
    assert Secret(key).redact(said) == shown
    assert Secret(None, others=(key,)).redact(said) == shown


@pytest.mark.parametrize(("said", "is_printable"), [("a marker", True), ("the key k", False)])
def test_an_exception_with_a_letter_of_a_short_key_is_quotable(
    said: str, is_printable: bool
) -> None:
    assert (Secret("k").printable_error(ValueError(said)) is not None) is is_printable


def test_a_key_that_begins_as_a_word_hides_no_word() -> None:
    said = "anthropic/claude refuses anthropic-test-1"

    assert Secret("anthropic-test-1").redact(said) == "anthropic/claude refuses [key]"


def test_without_a_key_there_is_nothing_to_hide() -> None:
    assert Secret(None).redact("all") == "all"
    assert KEY not in repr(Secret(KEY))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        pytest.param(("first-key-1", "other-key-2"), "first-key-1 or other-key-2", id="two keys"),
        pytest.param(("KEY-0123", "KEY-012345"), "KEY-012345 or KEY-0123", id="one in the other"),
        pytest.param(("KEY-012345", "KEY-0123"), "KEY-012345 or KEY-0123", id="the same, sent"),
        pytest.param(("abc", "abcd"), "abcd or abc", id="short ones"),
        pytest.param((None, "other-key-2"), "other-key-2 or other-key-2", id="only another"),
    ],
)
def test_the_other_keys_of_a_provider_are_hidden_too(
    keys: tuple[str | None, str], said: str
) -> None:
    key, other = keys
    secret = Secret(key, others=(other,))

    assert secret.redact(said) == "[key] or [key]"
    assert secret.printable_error(chained("a", f"b {other}")) is None
    assert other not in repr(secret)


SHAPED = "sk-test-1234567890abcdef"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param(f"no key: {SHAPED}.", "no key: [key].", id="a key of OpenAI's"),
        *(
            pytest.param(f"({shape}0123456789abcdef)", "([key])", id=f"{shape}…")
            for shape in (
                "sk-", "sk_", "pk-", "pk_", "gsk_", "csk-", "xai-", "pplx-", "hf_", "hf-", "r8_",
            )
        ),
        pytest.param("AIzaSyA-0123456789_abcdefghij", "[key]", id="a key of Google's"),
        pytest.param("Bearer abcdef0123456789", "Bearer [key]", id="a header"),
        pytest.param(repr(f"no key:\n{SHAPED}"), r"'no key:\n[key]'", id="after an escape"),
        pytest.param("'http://h/m?key=abc'", "'http://h/m?key=[key]'", id="key in a URL"),
        pytest.param("/m?a=b&API_KEY=abc&c=d", "/m?a=b&API_KEY=[key]&c=d", id="api_key in a URL"),
        pytest.param("/m?token=abc#top", "/m?token=[key]#top", id="token in a URL"),
        pytest.param("(/m?access_token=a.b)", "(/m?access_token=[key])", id="access_token in one"),
        pytest.param("/m?monkey=abc&tokens=3", "/m?monkey=abc&tokens=3", id="other parameters"),
        pytest.param("key=abc, token=3", "key=abc, token=3", id="no URL"),
        pytest.param("task-0123456789-abcdefgh", "task-0123456789-abcdefgh", id="a word"),
        pytest.param("openai/gpt-5.2-codex", "openai/gpt-5.2-codex", id="a route"),
        pytest.param("", "", id="nothing"),
    ],
)  # fmt: skip
def test_what_looks_like_a_key_is_masked_once(said: str, shown: str) -> None:
    assert redact_shapes(said) == shown
    assert redact_shapes(shown) == shown
    assert Secret("another-key").redact(said) == Secret(None).redact(said) == shown


def chained(*messages: str) -> Exception:
    first, *others = [ValueError(message) for message in messages]
    link = first
    for other in others:
        link.__cause__ = other
        link = other
    return first


@pytest.mark.parametrize(
    ("error", "is_quotable"),
    [
        pytest.param(chained("a", "b"), True, id="clean"),
        pytest.param(chained(KEY), False, id="itself"),
        pytest.param(chained("a", "b", f"c {KEY}"), False, id="a cause"),
        pytest.param(chained(*"abcdefghijklmnopqrstuvwxyz"), False, id="too long to tell"),
    ],
)
def test_an_exception_is_quotable_where_no_link_names_the_key(
    error: Exception, is_quotable: bool
) -> None:
    assert Secret(KEY).printable_error(error) is (error if is_quotable else None)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        pytest.param("OPENROUTER_API_KEY", True, id="an API key"),
        pytest.param("OPENAI_API_KEY_2", True, id="the second of some"),
        pytest.param("OPENAI_APIKEY_2", True, id="the second, in one word"),
        pytest.param("openai_apikey", True, id="small letters"),
        pytest.param("MYKEY", True, id="the end of a word"),
        pytest.param("PGPASSWORD", True, id="a password at the end of a word"),
        pytest.param("ANTHROPIC_AUTH_TOKEN", True, id="a token"),
        pytest.param("AWS_SECRET_ACCESS_KEY", True, id="a secret"),
        pytest.param("AWS_ACCESS_KEY_ID", True, id="its id"),
        pytest.param("SECRET_PATH", True, id="the first word"),
        pytest.param("DB_PASSWD", True, id="a password, for short"),
        pytest.param("GPG_PASSPHRASE", True, id="a passphrase"),
        pytest.param("GOOGLE_APPLICATION_CREDENTIALS", True, id="credentials"),
        pytest.param("PATH", False, id="path"),
        pytest.param("KEYBOARD", False, id="the beginning of a word"),
        pytest.param("MONKEY_ISLAND", False, id="the end of a word that is not the last"),
        pytest.param("TOKENIZERS_PARALLELISM", False, id="tokenizers"),
        pytest.param("MAX_TOKENS", False, id="a number of them"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_a_variable_that_holds_a_secret_is_known_by_its_name(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret
