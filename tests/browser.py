"""A headless Chromium, driven through the pipe of its DevTools protocol: messages of JSON that end with a zero byte."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
# The browser reads messages from descriptor 3 and writes them to descriptor 4.
LAUNCH = """
import fcntl, os, sys
above = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(above[0], 3)
os.dup2(above[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A running browser with one page. `events` has all events so far; methods wait at most 20 s."""

    def __init__(self, profile, wait=20.0):
        self.wait, self.events, self.number, self.buffer = wait, [], 0, b""
        reads, self.input = os.pipe()
        self.output, writes = os.pipe()
        launch = [sys.executable, "-S", "-c", LAUNCH, str(reads), str(writes)]
        command = [*launch, CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, pass_fds=(reads, writes), **quiet)
        os.close(reads)
        os.close(writes)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Return the result of a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        """Return the next message."""
        end = time.monotonic() + self.wait
        while b"\0" not in self.buffer:
            if not select.select([self.output], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.output, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        """Return the value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", result))
        return result["result"].get("value")

    def open(self, path, width=1200, height=900, dark=False, phone=False):
        """Load a page from a file at a size, and wait until it says that it is ready."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        media = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in media.items()]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        end = time.monotonic() + self.wait
        while not self.evaluate("document.documentElement?.dataset.ready === 'yes'"):
            if time.monotonic() > end:
                raise TimeoutError("the page is not ready")
            time.sleep(0.05)

    def move(self, x, y, kind="mouseMoved", **more):
        """Move, press or release the mouse at a point of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        """Click at a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.move(x, y, kind, button="left", clickCount=1)

    def problems(self):
        """Return messages of errors and warnings, exceptions, and requests for anything but files and data."""
        found = []
        for event in self.events:
            method, values = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(values["exceptionDetails"])
            elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
                found.append(values["entry"])
            elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
                found.append(values["args"])
            elif method == "Network.requestWillBeSent" and not values["request"]["url"].startswith(("file:", "data:")):
                found.append(values["request"]["url"])
        return found

    def close(self):
        """End the browser."""
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (RuntimeError, TimeoutError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
