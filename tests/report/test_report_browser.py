"""Reports in a real browser: no errors, no requests, and pointing, filtering, clicking and switching work."""

import pytest
from sklearn.datasets import load_digits, load_wine

from gramian import MetricLearner, write_report

from browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
# The number of pixels of the map that are not empty.
PAINTED = (
    "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
    ".reduce((sum, value, i) => sum + (i % 4 === 3 && value > 0), 0)"
)
NASTY = "<img src=x onerror=alert(1)></script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    learner = MetricLearner(3, constraints="start", random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("pages") / "digits.html"
    return write_report(learner, X[:200], y[:200], path, X_test=X[200:], y_test=y[200:], image_shape=(8, 8))


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    X, y = load_wine(return_X_y=True, as_frame=True)
    learner = MetricLearner(1, constraints="start").fit(X.to_numpy(), y)
    names = y.map({0: NASTY, 1: "b", 2: "c"})
    return write_report(learner, X, names, tmp_path_factory.mktemp("pages") / "wine.html", title=NASTY)


def point_of(browser, index):
    """The place of a sample in the window."""
    browser.evaluate("canvas.scrollIntoView({block: 'center', behavior: 'instant'})")
    return browser.evaluate(
        f"(() => {{ const b = canvas.getBoundingClientRect(), p = map.points[{index}];"
        " return [b.left + p[0], b.top + p[1]]; })()"
    )


def sees_tip(browser):
    return browser.evaluate("!tip.hidden && tip.textContent")


def test_pages_load_without_errors_and_requests(browser, digits, wine):
    for path in (digits, wine):
        for size in ({}, {"dark": True}, {"width": 400, "height": 800, "phone": True}):
            browser.open(path, **size)
            # Nothing is wider than the window: only inner boxes scroll sideways.
            assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert browser.evaluate("document.querySelectorAll('section').length") == 8
    requested = [event for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    assert requested
    assert browser.problems() == []


def test_a_request_and_an_error_would_be_seen(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<html data-ready=yes><img src='http://127.0.0.1:9/x.png'><script>nonsense()</script>")
    before = len(browser.events)
    browser.open(page)
    browser.evaluate("new Promise((done) => setTimeout(done, 100))")
    found = str(browser.problems())
    del browser.events[before:]
    assert "127.0.0.1:9" in found
    assert "nonsense is not defined" in found


def test_themes_differ(browser, wine):
    grounds = []
    for dark in (False, True):
        browser.open(wine, dark=dark)
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


def test_pointing_at_a_sample_shows_its_row(browser, wine):
    browser.open(wine)
    assert sees_tip(browser) is False
    browser.move(*point_of(browser, 5))
    text = sees_tip(browser)
    assert "row" in text
    assert "alcohol" in text
    assert browser.evaluate("document.querySelectorAll('#tip img, #legend img, h1 img').length") == 0
    browser.move(2, 2)
    assert sees_tip(browser) is False


def test_a_class_is_hidden_and_shown_by_its_button(browser, digits):
    browser.open(digits)
    whole = browser.evaluate(PAINTED)
    place = point_of(browser, 0)
    browser.move(*place)
    assert sees_tip(browser)
    browser.evaluate("document.querySelectorAll('#legend button').forEach((button) => button.click())")
    assert browser.evaluate(PAINTED) == 0
    browser.move(place[0] + 1, place[1])
    assert sees_tip(browser) is False
    browser.evaluate("document.querySelectorAll('#legend button')[3].click()")
    assert 0 < browser.evaluate(PAINTED) < whole
    assert browser.evaluate("document.querySelectorAll('#legend button[aria-pressed=true]').length") == 1


def test_a_click_shows_the_neighbours_of_a_sample(browser, digits):
    browser.open(digits)
    place = point_of(browser, 11)
    nearest = browser.evaluate(f"nearestPoint({{clientX: {place[0]}, clientY: {place[1]}}})")
    browser.click(*place)
    assert int(browser.evaluate("byId('examples').dataset.query")) == nearest
    assert browser.evaluate("document.querySelectorAll('.example:first-child .card').length") == 11


def test_before_and_after_and_axes_are_switched(browser, digits):
    # Tests that read pixels have made the browser warn.
    browser.events.clear()
    browser.open(digits)
    after = browser.evaluate("map.points.flat()")
    browser.evaluate("byId('show-before').click()")
    before = browser.evaluate("map.points.flat()")
    assert browser.evaluate("byId('axes-label').hidden")
    browser.evaluate("byId('show-after').click()")
    assert browser.evaluate("map.points.flat()") == after != before
    browser.evaluate("byId('axis-y').value = '2'; byId('axis-y').dispatchEvent(new Event('change'))")
    assert browser.evaluate("map.points.flat()") != after
    assert browser.problems() == []
