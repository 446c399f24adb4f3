"""A small client for chromedriver, which speaks WebDriver over plain HTTP."""
import base64
import json
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Control": "\ue009", "Shift": "\ue008",
        "Backspace": "\ue003", "End": "\ue010", "Down": "\ue015", "Space": " "}


class Browser:
    """A headless browser with one window."""

    def __init__(self, browser, driver):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            started = re.search(r"started successfully on port (\d+)", line)
            if started:
                break
        else:
            raise RuntimeError("chromedriver does not start")
        self.address = f"http://127.0.0.1:{started[1]}"
        options = {
            "binary": browser,
            # Root may not use the sandbox, and this machine's names are all that may be asked for.
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
                     f"--user-data-dir={self.profile.name}"],
        }
        self.session = ""
        opened = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}}})
        self.session = f"/session/{opened['sessionId']}"

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()
            self.profile.cleanup()

    def call(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(
            self.address + self.session + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise AssertionError(f"{value['error']}: {value['message'].splitlines()[0]}") from None

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, what, script, *arguments, seconds=30):
        """Waits until a script returns something that is true, and returns it."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{what}; the page is:\n{self.text()[:1500]}")
            time.sleep(0.05)

    def text(self):
        return self.run("return document.body.innerText")

    def wait_for(self, text, selector="body"):
        self.wait(f"there is no “{text}” in {selector}",
                  "return [...document.querySelectorAll(arguments[0])].some("
                  "(one) => one.innerText.includes(arguments[1]))", selector, text)

    def find(self, selector, text=""):
        """Returns the first element that a selector finds and that has a text, when it is there."""
        return self.wait(f"there is no {selector} “{text}”",
                         "return [...document.querySelectorAll(arguments[0])].find((one) => "
                         "`${one.innerText} ${one.getAttribute('aria-label')}`.includes(arguments[1]))",
                         selector, text)

    def click(self, selector, text=""):
        for attempt in range(3):
            try:
                return self.call("POST", f"/element/{self.find(selector, text)[ELEMENT]}/click")
            except AssertionError as error:
                # The page has just been replaced.
                if "stale element" not in str(error) or attempt == 2:
                    raise

    def write(self, selector, text, clear=True):
        """Replaces the text of a field."""
        element = self.find(selector)
        if clear:
            self.call("POST", f"/element/{element[ELEMENT]}/clear")
        self.call("POST", f"/element/{element[ELEMENT]}/value", {"text": text})

    def choose(self, selector, *paths):
        """Chooses files in a field for files."""
        self.call("POST", f"/element/{self.find(selector)[ELEMENT]}/value", {"text": "\n".join(paths)})

    def press(self, *keys):
        """Presses keys one after the other; `Control+s` presses two together."""
        steps = []
        for key in keys:
            parts = [KEYS.get(part, part) for part in (key.split("+") if len(key) > 1 else [key])]
            steps += [{"type": "keyDown", "value": part} for part in parts]
            steps += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": steps}]})

    def type(self, text):
        self.press(*["Enter" if one == "\n" else one for one in text])

    def show(self, width, height, scheme):
        """Sets the size of the window and the colours that the user prefers."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", media="",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def log(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def requests(self):
        """Returns the addresses of all requests since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]
