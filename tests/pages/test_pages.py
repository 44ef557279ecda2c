"""Every page of the built site: links, pictures and anchors; and in a headless Chromium errors, widths and the search.

`make docs-check` builds the site and runs this with GRAMIAN_CHECK_SITE=1. Then a missing site and a missing browser are
errors. Elsewhere it is skipped: a build is not part of `make test`.
"""

import os
import threading
import time
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest

from browser import CHROMIUM, Browser

SITE = Path(__file__).parents[2] / "build" / "docs"
WANTED = os.environ.get("GRAMIAN_CHECK_SITE", "0") not in ("", "0")
PAGES = sorted(SITE.rglob("*.html")) if WANTED else []
#: Parts of the theme, not pages of ours.
PAGES = [page for page in PAGES if "_static" not in page.parts and page.name not in ("genindex.html", "search.html")]
without_site = pytest.mark.skipif(not WANTED, reason="the site is checked by `make docs-check`, which builds it")
TELEPHONE, DESK = 400, 1200
#: Pages that every reader sees, of which screenshots are kept.
SHOWN = ("index", "start", "guide", "guides/labels", "gallery/index", "gallery/plot_pairs", "api/index", "measured")
SHOWN = (*SHOWN, "api/gramian.MetricLearner", "paper/README", "messages", "guides/pairs", "mathematics")


class References(HTMLParser):
    """The addresses that a page refers to, and the anchors that it has."""

    def __init__(self, page):
        super().__init__()
        self.addresses, self.anchors = [], set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.addresses += [values[name] for name in ("href", "src") if values.get(name)]


def broken_references(page, known):
    """Return the addresses of a page that lead nowhere; `known` has the references of each page."""
    broken = []
    for address in known[page].addresses:
        parts = urlparse(address)
        if parts.scheme or parts.netloc:
            continue
        path, anchor = urldefrag(address)
        target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.exists() or (
            anchor and target in known and unquote(anchor) not in known[target].anchors | {"top"}
        ):
            broken.append(address)
    return broken


@without_site
def test_the_site_has_its_pages():
    names = {str(page.relative_to(SITE)) for page in PAGES}
    assert {"index.html", "start.html", "guides/pairs.html", "api/gramian.PSDRegressor.html"} <= names
    assert len([name for name in names if name.startswith("gallery/plot_")]) >= 11


@without_site
def test_no_reference_is_broken():
    known = {page.resolve(): References(page) for page in sorted(SITE.rglob("*.html"))}
    broken = {
        str(page): found for page in known if "_static" not in page.parts if (found := broken_references(page, known))
    }
    assert broken == {}


def test_broken_references_are_found(tmp_path):
    (tmp_path / "one.html").write_text('<a href="two.html#here"></a><a href="two.html#gone"></a><img src="no.png">')
    (tmp_path / "two.html").write_text('<p id="here"></p><a href="https://elsewhere.org"></a>')
    known = {page: References(page) for page in sorted(tmp_path.glob("*.html"))}
    assert broken_references(tmp_path / "one.html", known) == ["two.html#gone", "no.png"]
    assert broken_references(tmp_path / "two.html", known) == []


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and does not report requests."""

    def log_message(self, *values):
        """Report nothing."""


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.fail("no Chromium is installed, and GRAMIAN_CHECK_SITE asks for the pages in a browser.")
    running = Browser(tmp_path_factory.mktemp("profile"), wait=60.0)
    yield running
    running.close()


def visit(browser, url, width):
    """Open a page at a width, and wait until it is complete."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Page.navigate", url=url)
    wait_for(browser, f"document.readyState === 'complete' && location.href.startsWith({url!r})")


def wait_for(browser, condition):
    """Wait until a condition in JavaScript holds."""
    end = time.monotonic() + browser.wait
    while not browser.evaluate(condition):
        if time.monotonic() > end:
            raise TimeoutError(condition)
        time.sleep(0.05)


def problems_of(events, address):
    """Return errors of the console, exceptions, failed requests and requests that leave the site."""
    found = []
    for event in events:
        method, values = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            found.append(values["exceptionDetails"].get("text"))
        elif method == "Log.entryAdded" and values["entry"]["level"] == "error":
            found.append(values["entry"]["text"])
        elif method == "Network.responseReceived" and values["response"]["status"] >= 400:
            found.append(values["response"]["url"])
        elif method == "Network.requestWillBeSent":
            url = values["request"]["url"]
            if not url.startswith((address, "data:", "blob:", "about:")):
                found.append(url)
    return found


@without_site
@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(SITE)) for page in PAGES])
def test_a_page_has_no_errors_and_fits_a_telephone(browser, address, page):
    browser.events.clear()
    name = str(page.relative_to(SITE))
    visit(browser, f"{address}/{name}", DESK)
    keep_screenshot(browser, name, DESK)
    assert browser.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)") == []
    visit(browser, f"{address}/{name}", TELEPHONE)
    keep_screenshot(browser, name, TELEPHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= TELEPHONE
    assert problems_of(browser.events, address) == []


def keep_screenshot(browser, name, width):
    """Store a picture of a page that every reader sees, in build/screenshots."""
    import base64

    stem = name.removesuffix(".html")
    if stem in SHOWN:
        folder = SITE.parent / "screenshots"
        folder.mkdir(exist_ok=True)
        data = browser.call("Page.captureScreenshot", format="png")["data"]
        (folder / f"{stem.replace('/', '-')}-{width}.png").write_bytes(base64.b64decode(data))


@without_site
@pytest.mark.parametrize(
    ("word", "wanted"), [("threshold", "guides/pairs.html"), ("PSDRegressor", "gramian.PSDRegressor.html")]
)
def test_the_search_finds_a_word(browser, address, word, wanted):
    visit(browser, f"{address}/search.html?q={word}", DESK)
    wait_for(browser, f"[...document.querySelectorAll('#search-results a')].some(a => a.href.includes({wanted!r}))")
    assert browser.evaluate("document.querySelectorAll('#search-results li').length") > 0
