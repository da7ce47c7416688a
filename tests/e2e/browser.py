"""mitmweb's page in a headless Chromium, as a person would use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.e2e.places import chromedriver, chromium

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1500,1000",
)
"""No window, and nothing asked of the world outside."""
PATIENCE = 20


class Page:
    """One page of mitmweb."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self._driver = driver
        driver.get(url)

    def open_flow(self, number: int) -> None:
        """Click on a flow of the list; the first is 1. The table's first row keeps place for what is scrolled away."""
        self._wait(f"(//table/tbody/tr[td])[{number}]").click()

    def open_side(self, side: str) -> None:
        """Request or Response."""
        self._wait(f"//nav/a[normalize-space()='{side}']").click()

    def open_view(self, name: str) -> str:
        """Choose a view → what it shows."""
        self._wait("//a[contains(., 'View:')]").click()
        self._wait(f"//a[normalize-space()='{name.lower()}']").click()
        self._wait(f"//*[contains(@class, 'contentview')]//*[normalize-space()='{name}']")
        return self._wait("//*[contains(@class, 'contentview')]//pre").text

    def shoot(self, path: Path) -> None:
        """A picture of the page."""
        self._driver.save_screenshot(str(path))

    def _wait(self, xpath: str) -> WebElement:
        return WebDriverWait(self._driver, PATIENCE).until(lambda driver: driver.find_element(By.XPATH, xpath))


@contextmanager
def page(url: str) -> Iterator[Page]:
    """A browser on a page, until the block ends."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium())
    for argument in ARGUMENTS:
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(str(chromedriver())))
    try:
        yield Page(driver, url)
    finally:
        driver.quit()
