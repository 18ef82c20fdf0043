"""People who do not exist answer a survey in Chromium, each through the page: python examples/respondents.py URL.

A thousand of them see the page of docs/tutorials/collect.md at this address and answer as `true_answers` says. It needs
Playwright and Chromium; everybody has a browser without memory, so each draws anew.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# Somebody finds a question by its text, ticks what is answered or types it, looks at what would be sent, and sends it.
ANSWER = """async (answers) => {
  const until = async (found) => {
    for (let tries = 0; !found(); tries++) {
      if (tries > 2000) throw new Error("the page does not go on: " + document.body.innerText.slice(-200));
      await new Promise((next) => setTimeout(next, 5));
    }
    return found();
  };
  const button = (place) => document.querySelectorAll("button")[place];
  await until(() => document.querySelector("form"));
  for (const [question, answer] of Object.entries(answers)) {
    const asked = (one) => one.querySelector("legend").textContent === question;
    const group = [...document.querySelectorAll("fieldset")].find(asked);
    if (!group) continue; // where each is asked one thing
    const typed = group.querySelector("input[type=number], input[type=date]");
    if (typed) typed.value = answer;
    for (const label of typed ? [] : group.querySelectorAll("label")) {
      if ([answer].flat().includes(label.textContent)) label.click();
    }
  }
  button(0).click();
  await until(() => document.querySelector("dl"));
  const sent = [...document.querySelectorAll("dd.sent")].map((one) => one.textContent);
  button(0).click();
  await until(() => document.querySelector("[role=status]"));
  return sent;
}"""


def true_answers(people: int) -> Iterator[dict[str, Any]]:
    """Of five students three never cheated in an exam, one did once, and one more often; each year has as many."""
    for n in range(people):
        cheated = ["never", "never", "never", "once", "more often"][n % 5]
        yield {
            "Have you ever cheated in an exam?": cheated,
            "In which year of your studies are you?": str(n // 5 % 5 + 1),
        }


def answer_all(urls: Sequence[str], answers: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Answer the survey at these addresses, each with a ticket of its own; gives what the page said it would send."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page, told = browser.new_page(), []
        for url, one in zip(urls, answers, strict=True):
            page.goto("about:blank")  # another ticket alone is no other page
            page.goto(url)
            told.append(page.evaluate(ANSWER, dict(one)))
            page.evaluate("localStorage.clear()")
        browser.close()
    return told


if __name__ == "__main__":
    everybody = list(true_answers(1000))
    answer_all([sys.argv[1]] * len(everybody), everybody)
