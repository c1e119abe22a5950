"""Pages that show the overview: each asks once a second, as src/web/live.js does."""

import http.client
import json
import threading

STEP = 5  # s
OVERLAP_MS = 5000


class Tabs:
    """with Tabs(port, 50): 50 open pages, which do not ask at the same moment."""

    def __init__(self, port, number):
        self._port, self._end, self.faults = port, threading.Event(), []
        self._threads = [threading.Thread(target=self._poll, args=(index / number,)) for index in range(number)]

    def _poll(self, wait):
        link, after = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60), None
        try:
            while not self._end.wait(wait):
                link.request("GET", f"/overview?step={STEP}" + (f"&after={after}" if after else ""))
                answer = link.getresponse()
                body = answer.read()
                if answer.status != 200:
                    raise ValueError(body)
                after, wait = json.loads(body)["series"]["until"] - OVERLAP_MS, 1
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.faults.append(repr(error))
        finally:
            link.close()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()
        if self.faults:
            raise SystemExit(f"/overview: {self.faults[0]}")
