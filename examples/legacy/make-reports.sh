#!/bin/sh
# Stands for a program that knows nothing of elections: it writes a line into a ledger, again and again, until it is told
# to stop. The wrapper runs it while its pod leads, and only then.
trap 'exit 0' TERM
echo "leads, with the fencing token $CLE_FENCING_TOKEN"
while :; do
  (
    flock 9
    # The ledger refuses a leader of before: that one may have been paused, and may not know yet.
    last=$(tail -n 1 "$LEDGER" | cut -d ' ' -f 1)
    if [ "${last:-0}" -gt "$CLE_FENCING_TOKEN" ]; then exit 1; fi
    echo "$CLE_FENCING_TOKEN $POD_NAME $(date -u +%FT%TZ)" >&9
  ) 9>>"$LEDGER" || exit 1
  sleep 0.2 &
  wait $!
done
