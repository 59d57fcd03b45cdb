"""One of many copies of this program sends invoices; the others stand by. Python's standard library is all it needs.

Its sidecar tells it whether it leads, and for how long it may rely on that.
"""

import json
import os
import signal
import sys
import time
import urllib.request

SIDECAR = os.environ.get("SIDECAR", "http://127.0.0.1:4040")
LEDGER = os.environ.get("LEDGER", "ledger")
POD_NAME = os.environ.get("POD_NAME", "")


def ask(path, method="GET"):
    """What the sidecar answers; None when it does not."""
    try:
        with urllib.request.urlopen(urllib.request.Request(SIDECAR + path, method=method), timeout=2) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        # 503, which says that another leads, is an OSError, too.
        return None


def send(until, token):
    """Writes a line into a ledger that all copies share."""
    with open(LEDGER, "a+", encoding="utf-8") as ledger:
        ledger.seek(0)
        lines = ledger.read().splitlines()
        last = int(lines[-1].split()[0]) if lines else 0
        # Right before it acts, a leader looks at the time: it may have been paused.
        if time.monotonic() >= until:
            return
        # The ledger refuses a leader of before. A database would compare in the same statement as it writes.
        if last > token:
            raise RuntimeError(f"leader {last} has written after leader {token}")
        ledger.write(f"{token} {POD_NAME} {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n")


def main():
    # SIGTERM ends it where it stands; what it leads has then ended, and the sidecar may let go of the Lease at once.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    leads = False
    try:
        while True:
            # What is told holds from when it was asked; a second is left for the work itself.
            asked = time.monotonic()
            account = ask("/leader")
            if (account is not None) != leads:
                leads = not leads
                print(f"leads, with the fencing token {account['fencingToken']}" if leads else "leads no longer", flush=True)
                if not leads:
                    ask("/resign", "POST")
            if account is not None:
                send(asked + account["validForMs"] / 1000 - 1, account["fencingToken"])
            time.sleep(0.2)
    finally:
        ask("/resign", "POST")


if __name__ == "__main__":
    main()
