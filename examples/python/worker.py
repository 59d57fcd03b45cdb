"""One of many copies of this program sends invoices; the others stand by. Python's standard library is all it needs.

It leads while its request to the sidecar is open. If it dies, the kernel closes the connection, and another copy leads.
"""

import http.client
import json
import os
import signal
import threading
import time
import traceback

SIDECAR = os.environ.get("SIDECAR", "127.0.0.1:4040")
LEDGER = os.environ.get("LEDGER", "ledger")
POD_NAME = os.environ.get("POD_NAME", "")


class Term:
    """One time of leading."""

    def __init__(self):
        self.token = 0
        self.until = 0.0
        self.stopping = threading.Event()


def lead():
    """Asks for the lead, and works while it has the lead. Returns when the work has ended."""
    term = Term()
    worker = threading.Thread(target=work, args=(term,))
    asked = time.monotonic()
    sidecar = http.client.HTTPConnection(SIDECAR)
    sidecar.request("GET", "/lead")
    # The answer begins when this pod leads.
    answer = sidecar.getresponse()
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
            if worker.ident is None:
                worker.start()
    finally:
        term.stopping.set()
        if worker.ident is not None:
            worker.join()
        # Only now: this says that the work has ended.
        answer.close()


def work(term):
    try:
        print(f"leads, with the fencing token {term.token}", flush=True)
        while not term.stopping.wait(0.2):
            send(term)
        print("leads no longer", flush=True)
    except BaseException:
        # The end of the process gives the lead back.
        traceback.print_exc()
        os._exit(1)


def send(term):
    """Writes a line into a ledger that all copies share."""
    with open(LEDGER, "a+", encoding="utf-8") as ledger:
        ledger.seek(0)
        lines = ledger.read().splitlines()
        last = int(lines[-1].split()[0]) if lines else 0
        # Right before it acts, a leader looks at the time: it may have been paused. A second is left for the work itself.
        if time.monotonic() >= term.until - 1:
            return
        # The ledger refuses a leader of before. A database would compare in the same statement as it writes.
        if last > term.token:
            raise RuntimeError(f"leader {last} has written after leader {term.token}")
        ledger.write(f"{term.token} {POD_NAME} {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n")


def main():
    # It ends where it stands, and the kernel closes the connection.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        try:
            lead()
        except (OSError, http.client.HTTPException):
            # The sidecar is not there, or has ended.
            pass
        time.sleep(0.2)


if __name__ == "__main__":
    main()
