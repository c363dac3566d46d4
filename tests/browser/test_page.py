"""The page of `sidestep serve`, as a person uses it: with eyes, a keyboard, or a screen reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver import ActionChains, Keys

from ..session.serve.served import CLAUDE, SIBLING
from .chromium import DESKTOP, PHONE, Viewed, viewing

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WORD = "the-token of%the#test"  # with what an address has to escape
MAPPED = {"siblings": {CLAUDE: SIBLING}}
SWAPS: Mapping[str, object] = {CLAUDE: {"status": 503}, SIBLING: {"text": "Hello."}}
HELLO: Mapping[str, object] = {CLAUDE: {"text": "Hello."}}
SIZES = [pytest.param(PHONE, id="a phone"), pytest.param(DESKTOP, id="a desktop")]


def press(viewed: Viewed, *keys: str) -> None:
    ActionChains(viewed.browser).send_keys(*keys).perform()


def focused(viewed: Viewed) -> str:
    found: str = viewed.look("return document.activeElement.id || document.activeElement.tagName")
    return found


def cells(viewed: Viewed, table: str) -> list[list[str]]:
    found: list[list[str]] = viewed.look(
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))",
        table,
    )
    return found


def test_the_page_shows_the_routes_the_last_steps_and_what_was_saved(browser: Chrome) -> None:
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.ask(CLAUDE)
        viewed.open()
        viewed.wait_for_text("#summary", "1 of 2 routes not healthy")
        (first, second), (step,) = cells(viewed, "#routes"), cells(viewed, "#steps")

        assert first[:4] == [CLAUDE, "▲ degraded", "60 s", "0 of 1"]
        assert first[4].startswith("503 server_error")
        assert second == [SIBLING, "● healthy", "0 s", "1 of 1", "none"]
        assert step[0].startswith(f"1. {CLAUDE}")
        assert step[1] == f"✓ answered by {SIBLING}"
        assert f"{CLAUDE}: ✗ 503 server_error" in step[2]
        assert f"{SIBLING}: ✓ answered" in step[2]
        assert step[3] == "1"
        assert "tokens in" in step[6]
        assert [viewed.text(f"#{name}") for name in ("answered", "saved", "failed")] == [*"110"]


def test_the_page_is_live(browser: Chrome) -> None:
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "All 2 routes are healthy")
        viewed.ask(CLAUDE)
        viewed.wait_for_text("#summary", "1 of 2 routes not healthy")
        viewed.served.clock.now += 59.5
        viewed.wait_for(lambda: cells(viewed, "#routes")[0][2] == "1.0 s")
        viewed.served.clock.now += 1
        viewed.wait_for(lambda: cells(viewed, "#routes")[0][1:3] == ["◆ due for a probe", "0 s"])


def test_a_paused_page_asks_nothing(browser: Chrome) -> None:
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "healthy")
        viewed.look("document.getElementById('pause').click()")
        viewed.ask(CLAUDE)
        viewed.refresh()
        viewed.look("window.dispatchEvent(new Event('focus'))")
        shown = viewed.text("#answered")
        viewed.look("document.getElementById('pause').click()")
        viewed.wait_for_text("#answered", "1")

        assert shown == "0"


def test_a_clients_own_key_is_named_and_never_shown(browser: Chrome) -> None:
    with viewing(browser, {CLAUDE: {"status": 429}}, token=None) as viewed:
        viewed.ask(CLAUDE, headers={"x-api-key": WORD})
        viewed.open()
        viewed.wait_for(lambda: cells(viewed, "#routes"))
        (route,), (step,) = cells(viewed, "#routes"), cells(viewed, "#steps")

        assert route[0] == f"{CLAUDE} with the client's own key"
        assert route[3] == "0 of 1"
        assert "with the client's own key: ✗ 429" in step[2]
        assert WORD not in viewed.look("return document.documentElement.outerHTML")


def test_more_routes_than_fit_are_counted(browser: Chrome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.session.serve.pages._MOST_SHOWN", 3)
    with viewing(browser, {**SWAPS, "*": {"status": 503}}, **MAPPED) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "All 2 routes are healthy")
        before = viewed.look("return document.getElementById('left-out').hidden")
        for number in range(4):
            viewed.ask(f"anthropic/invented-{number}")
        viewed.wait_for_text("#left-out", "3 further routes that a client has asked for")

        assert before is True
        assert [row[0] for row in cells(viewed, "#routes")][:2] == [CLAUDE, SIBLING]


HOSTILE = "<img/src=x/onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def test_nothing_that_comes_from_outside_is_html(browser: Chrome) -> None:
    refusal = {"status": 400, "body": {"error": {"message": HOSTILE}}}
    with viewing(browser, {"*": refusal}) as viewed:
        viewed.ask(f"anthropic/{HOSTILE}")
        viewed.open()
        viewed.wait_for(lambda: cells(viewed, "#steps"))
        route, step = cells(viewed, "#routes")[0], cells(viewed, "#steps")[0]
        added = viewed.look("return document.querySelectorAll('img, main script').length")

        assert route[0] == f"anthropic/{HOSTILE}"
        assert HOSTILE in route[4]
        assert HOSTILE in step[0]
        assert (viewed.browser.title, added) == ("sidestep serve", 0)
        assert viewed.complaints() == []


def test_a_script_that_got_in_would_not_run(browser: Chrome) -> None:
    with viewing(browser, HELLO) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "No route")
        viewed.complaints()
        viewed.look("document.getElementById('summary').innerHTML = arguments[0]", HOSTILE)
        viewed.wait_for(lambda: any("Content Security Policy" in each for each in
                                    viewed.complaints()))  # fmt: skip

        assert viewed.browser.title == "sidestep serve"


def test_everything_comes_from_this_address(browser: Chrome) -> None:
    with viewing(browser, HELLO, token=WORD) as viewed:
        viewed.open(WORD)
        viewed.wait_for_text("#summary", "No route")
        names: list[str] = viewed.look(
            "return performance.getEntriesByType('resource').map(each => each.name)"
        )
        ours = f"{viewed.served.serve.url}/_sidestep/"

        assert {name.removeprefix(ours) for name in names} == {"page.css", "page.js", "status"}


def test_the_token_behind_the_address_does_not_stay_there(browser: Chrome) -> None:
    with viewing(browser, HELLO, token=WORD) as viewed:
        viewed.open(WORD)
        viewed.wait_for_text("#summary", "No route")
        first = viewed.browser.current_url
        viewed.browser.refresh()
        viewed.wait_for_text("#summary", "No route")

        assert first == viewed.browser.current_url == f"{viewed.served.serve.url}/_sidestep/"
        assert viewed.look("return document.cookie") == ""


def test_a_person_gives_the_token_by_the_keyboard_alone(browser: Chrome) -> None:
    with viewing(browser, HELLO, token=WORD) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "asks for its token")
        assert focused(viewed) == "token"
        press(viewed, "wrong", Keys.ENTER)
        viewed.wait_for_text("#summary", "not the token")
        press(viewed, WORD, Keys.ENTER)
        viewed.wait_for_text("#summary", "No route")

        assert viewed.look("return document.getElementById('ask').hidden")
        assert viewed.browser.current_url.endswith("/_sidestep/")


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(browser: Chrome) -> None:
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "healthy")
        reached, outlines = [], []
        for _ in range(2):
            press(viewed, Keys.TAB)
            reached.append(focused(viewed))
            outlines.append(viewed.look(
                "return getComputedStyle(document.activeElement).outlineStyle"))  # fmt: skip
        press(viewed, Keys.SPACE)
        pressed = viewed.look("return document.activeElement.getAttribute('aria-pressed')")
        back = ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT)
        back.send_keys(Keys.ENTER).perform()

        assert reached == ["skip", "pause"]
        assert outlines == ["solid", "solid"]
        assert pressed == "true"
        assert focused(viewed) == "main"


def tree(viewed: Viewed) -> list[tuple[str, str]]:
    """Return the role and the name of each node that a screen reader sees."""
    found: dict[str, Any] = viewed.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in found["nodes"]
        if not node["ignored"]
    ]


@pytest.mark.parametrize("size", SIZES)
def test_a_screen_reader_finds_headings_and_tables_with_headers(
    browser: Chrome, size: tuple[int, int]
) -> None:
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.resize(size)
        viewed.ask(CLAUDE)
        viewed.open()
        viewed.wait_for_text("#summary", "not healthy")
        nodes = tree(viewed)
        headers = [name for role, name in nodes if role == "columnheader"]

        assert [name for role, name in nodes if role == "heading"] == [
            "sidestep serve", "Since the start", "Routes", "The last steps",
        ]  # fmt: skip
        assert [name for role, name in nodes if role == "table"] == ["Routes", "The last steps"]
        assert headers[:5] == ["Route", "Health", "Seconds left", "Answered", "Last failure"]
        assert (len(headers), [role for role, _ in nodes].count("rowheader")) == (12, 3)
        assert {"main", "banner", "status", "button"} <= {role for role, _ in nodes}
        assert viewed.look("return document.documentElement.lang") == "en"


def test_a_screen_reader_hears_only_what_matters(browser: Chrome) -> None:
    watch = """
        window.heard = [];
        const summary = document.getElementById('summary');
        new MutationObserver(() => window.heard.push(summary.textContent))
            .observe(summary, {childList: true, characterData: true, subtree: true});
    """
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "healthy")
        viewed.look(watch)
        viewed.ask(CLAUDE)
        viewed.wait_for_text("#summary", "not healthy")
        for left in ("50 s", "40 s", "30 s"):
            viewed.served.clock.now += 10
            viewed.refresh()
            viewed.wait_for_text("#routes tbody tr", left)

        assert viewed.look("return window.heard") == [
            f"1 of 2 routes not healthy: {CLAUDE}."
        ]  # fmt: skip


CONTRAST = """
    const light = (c) => {
        const [r, g, b] = c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
    const behind = (node) => {
        for (; node; node = node.parentElement) {
            const back = rgb(getComputedStyle(node).backgroundColor);
            if (back.length < 4 || back[3] > 0) return back.slice(0, 3);
        }
        return [255, 255, 255];
    };
    const shown = [...document.body.querySelectorAll('*')].filter(node => node.getClientRects().length
        && [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim()));
    return shown.map(node => {
        const pair = [rgb(getComputedStyle(node).color).slice(0, 3), behind(node)].map(light).sort((a, b) => b - a);
        return [(pair[0] + .05) / (pair[1] + .05), node.textContent];
    });
"""  # noqa: E501 - as short as JavaScript gets


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_in_light_and_in_the_dark(
    browser: Chrome, scheme: str, size: tuple[int, int]
) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1."""
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.resize(size)
        viewed.paint(scheme)
        viewed.ask(CLAUDE)
        viewed.open()
        viewed.wait_for_text("#summary", "not healthy")
        found: list[tuple[float, str]] = viewed.look(CONTRAST)
        back = viewed.look("return getComputedStyle(document.body).backgroundColor")

        assert len(found) > 40
        assert [each for each in found if each[0] < 4.5] == []
        assert (back == "rgb(255, 255, 255)") is (scheme == "light")


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
@pytest.mark.parametrize("route", [CLAUDE, f"anthropic/{'a-very-long-name-' * 8}"], ids=len)
def test_no_width_needs_a_scroll_to_the_side(browser: Chrome, width: int, route: str) -> None:
    answers = {"*": {"status": 503, "body": "x" * 500}}
    with viewing(browser, answers, siblings={route: SIBLING}) as viewed:
        viewed.resize((width, 740))
        viewed.ask(route)
        viewed.open()
        viewed.wait_for_text("#summary", "not healthy")
        over = viewed.look(
            "return [document.documentElement.scrollWidth, document.body.scrollWidth,"
            " ...[...document.querySelectorAll('tbody td, tbody th')]"
            ".map(cell => cell.getBoundingClientRect().right)]"
        )

        assert max(over) <= width


def test_on_a_phone_each_value_has_its_name_beside_it(browser: Chrome) -> None:
    with viewing(browser, SWAPS, **MAPPED) as viewed:
        viewed.resize(PHONE)
        viewed.ask(CLAUDE)
        viewed.open()
        viewed.wait_for_text("#summary", "not healthy")
        labels: list[str] = viewed.look(
            "return [...document.querySelectorAll('#routes tbody tr')[0].cells]"
            ".map(cell => getComputedStyle(cell, '::before').content)"
        )
        height = viewed.look("return document.getElementById('pause').offsetHeight")

        assert [label.partition(" /")[0] for label in labels[1:]] == [
            '"Health"', '"Seconds left"', '"Answered"', '"Last failure"',
        ]  # fmt: skip
        assert height >= 44


def test_the_page_says_that_nobody_answers_any_more(browser: Chrome) -> None:
    with viewing(browser, HELLO) as viewed:
        viewed.open()
        viewed.wait_for_text("#summary", "No route")
        viewed.portal.call(viewed.served.serve.aclose)
        viewed.wait_for_text("#summary", "sidestep serve has ended")
