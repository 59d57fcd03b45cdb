/**
 * @import { Messages } from '../wire.ts'
 * @typedef {{ kind: 'connecting' } | { kind: 'live' } | { kind: 'lost', since: number, why: string }} Connection
 * @typedef {{ [E in Exclude<keyof Messages, 'refused'>]: (message: Messages[E]) => void }} Handlers
 */

/** If no message arrives for this time, in ms, the connection counts as lost. Normally, one arrives at least every 10 s. */
const LONGEST_SILENCE_MS = 25_000;
const LOOK_MS = 1000;

/**
 * Keeps a connection to the stream of messages while the page is visible. A hidden page has no connection, because a
 * browser allows all its tabs together at most six connections to one server.
 * @param {Handlers} handlers
 * @param {(connection: Connection) => void} onChange called when the connection changes, and after each handler call
 */
export function connect(handlers, onChange) {
  /** @type {EventSource | undefined} */
  let source;
  /** When the last message except `refused` arrived; before the first message, when `connect` was called. */
  let heardAt = Date.now();
  /** `heardAt`, or the time at which `open` was last called, whichever is later. */
  let silentSince = heardAt;
  let isLost = false;
  /** Why the server last refused a connection; empty at first, and after any message except `refused`. */
  let why = '';

  function open() {
    source?.close();
    source = document.hidden ? undefined : new EventSource('status/events');
    silentSince = Date.now();
    if (!isLost) onChange({ kind: 'connecting' });
    for (const [event, handle] of Object.entries(handlers)) {
      source?.addEventListener(event, ({ data }) => {
        heardAt = silentSince = Date.now();
        isLost = false;
        why = '';
        handle(JSON.parse(data));
        onChange({ kind: 'live' });
      });
    }
    source?.addEventListener('refused', ({ data }) => {
      ({ why } = JSON.parse(data));
    });
    source?.addEventListener('error', lose);
  }

  function lose() {
    isLost = true;
    onChange({ kind: 'lost', since: heardAt, why });
  }

  // Compare wall-clock times, because they include the time that the machine sleeps. Timers stop during the sleep.
  setInterval(() => {
    const isSilent = Math.abs(Date.now() - silentSince) > LONGEST_SILENCE_MS;
    if (source && isSilent) lose();
    // An EventSource usually reconnects on its own. After a proxy's error, for example, it stays closed: open a new one.
    if (source && (isSilent || source.readyState === EventSource.CLOSED)) open();
  }, LOOK_MS);
  document.addEventListener('visibilitychange', open);
  open();
}
