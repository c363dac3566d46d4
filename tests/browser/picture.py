"""Take the pictures of the page: ``python -m tests.browser.picture``."""

from __future__ import annotations

import base64
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sidestep import AttemptStarted

from .chromium import Viewed, chromium, viewing

if TYPE_CHECKING:
    from sidestep.session.observation import Observation

FOLDER = Path(__file__).parents[2] / "session" / "serve" / "pictures"
SIZES = {"phone": (360, 900, "dark"), "desktop": (1100, 1000, "light")}
CLAUDE, GPT = "anthropic/claude-sonnet-4-5", "openai/gpt-5"
OPENROUTER, LLAMA = "openrouter/anthropic/claude-sonnet-4.5", "groq/llama-3.3-70b-versatile"
ANSWERS: Mapping[str, object] = {
    CLAUDE: [{"text": "Done."}, {"status": 529}, {"status": 529}, {"status": 529}],
    OPENROUTER: [{"text": "Done."}, {"status": 402}],
    GPT: {"text": "Done."},
    LLAMA: {"text": "Done."},
}
ASKED = (CLAUDE, OPENROUTER, CLAUDE, CLAUDE, OPENROUTER)


def take_steps(viewed: Viewed) -> None:
    """Take steps that need their time, so that the page has something to show."""
    rng = random.Random(4)
    clock = viewed.served.clock

    def pass_time(observation: Observation) -> None:
        if isinstance(observation, AttemptStarted):
            clock.now += rng.uniform(0.4, 3.0)

    end = viewed.served.middleware.observe(pass_time)
    for route in ASKED:
        viewed.ask(route)
        clock.now += rng.uniform(3.0, 6.0)
    end()


def photograph(viewed: Viewed, width: int, height: int, scheme: str) -> bytes:
    """Return the page as a PNG, as it is on a screen of that size."""
    viewed.resize((width, height))
    viewed.paint(scheme)
    viewed.open()
    viewed.wait_for_text("#summary", "not healthy")
    viewed.look("document.getElementById('updated').textContent = 'Updated at 15:04:05'")
    found = viewed.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return base64.b64decode(found["data"])


def main() -> None:
    siblings: Mapping[str, str | list[str]] = {CLAUDE: [GPT, LLAMA], OPENROUTER: LLAMA}
    settings = {"maxUpstreamRetryAttempts": 1}
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium(Path(profile)) as browser,
        viewing(browser, ANSWERS, siblings=siblings, settings=settings) as viewed,
    ):
        take_steps(viewed)
        for name, (width, height, scheme) in SIZES.items():
            (FOLDER / f"{name}.png").write_bytes(photograph(viewed, width, height, scheme))


if __name__ == "__main__":
    main()
