"""A kopf operator. Its handlers run in the Pod that leads, and only there.

kopf runs while the request to the sidecar is open. If the program dies, the kernel closes the connection, and another copy leads.
"""

import http.client
import json
import os
import signal
import sys
import threading
import time
import traceback

import kopf

SIDECAR = os.environ.get("SIDECAR", "127.0.0.1:4040")
POD_NAME = os.environ.get("POD_NAME", "")


@kopf.on.create("namespaces", labels={"tenant": kopf.PRESENT})
def welcome(patch, **_):
    # Right before it acts, a handler looks at the time: the program may have been paused. A second is left for the work itself.
    if time.monotonic() >= term.until - 1:
        raise kopf.TemporaryError("the time of this leader is over", delay=1)
    patch.metadata.annotations["example.com/welcomed"] = f"by {POD_NAME}, with the fencing token {term.token}"


class Term:
    """One time of leading."""

    def __init__(self):
        self.token = 0
        self.until = 0.0
        self.stopping = threading.Event()
        self.answer = None


term = Term()


def lead():
    """Asks for the lead, and runs kopf while it has the lead. Returns when kopf has ended."""
    global term
    term = Term()
    operator = threading.Thread(target=operate)
    asked = time.monotonic()
    sidecar = http.client.HTTPConnection(SIDECAR)
    sidecar.request("GET", "/lead")
    # The answer begins when this Pod leads.
    answer = sidecar.getresponse()
    # SIGTERM may end this function while kopf still stops. This keeps the connection open until the process ends.
    term.answer = answer
    try:
        for line in answer:
            if not line.startswith(b"data: "):
                continue
            told = json.loads(line[6:])
            term.token = told["fencingToken"]
            # It counts from the request: a line that was read late is still right.
            term.until = asked + told["validUntilMs"] / 1000
            if not told["leading"]:
                break
            if operator.ident is None:
                operator.start()
    finally:
        term.stopping.set()
        if operator.ident is not None:
            operator.join()
        # Only now: this says that the handlers have ended.
        answer.close()


def operate():
    try:
        kopf.run(clusterwide=True, standalone=True, stop_flag=term.stopping)
    except BaseException:
        traceback.print_exc()
    if not term.stopping.is_set():
        # kopf has failed. The end of the process gives the lead back.
        os._exit(1)


def terminate(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Ends lead() by an exception: kopf stops first.
    sys.exit(0)


def main():
    signal.signal(signal.SIGTERM, terminate)
    # As `kopf run` does: kopf's log.
    kopf.configure()
    while True:
        try:
            lead()
        except (OSError, http.client.HTTPException):
            # The sidecar is not there, or has ended.
            pass
        time.sleep(0.2)


if __name__ == "__main__":
    main()
