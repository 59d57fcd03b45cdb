/**
 * @typedef {import('../wire.ts').Messages} Messages
 * @typedef {{ kind: 'connecting' } | { kind: 'live' } | { kind: 'lost', since: number, why: string }} Connection
 * @typedef {{ [E in keyof Messages]: (message: Messages[E]) => void }} Handlers
 */

const EVENTS = 'status/events';
/** Maximum silence of the server, in milliseconds: it sends a message at least every 10 s. */
const LONGEST_SILENCE_MS = 25_000;
const RETRY_MS = { first: 1000, longest: 10_000 };
const LOOK_MS = 1000;

/**
 * Keeps a connection to the stream of messages while the page is visible. A hidden page needs no connection, and a browser
 * has at most six per server, over all of its tabs.
 *
 * @param {Handlers} handlers
 * @param {(connection: Connection) => void} onChange
 */
export function connect(handlers, onChange) {
  const events = /** @type {readonly (keyof Messages)[]} */ (Object.keys(handlers));
  let retryMs = RETRY_MS.first;
  /** @type {number | undefined} */
  let lostAt;
  /** Time of the last message. @type {number | undefined} */
  let heardAt;
  /** Since when the server has been silent. */
  let silentSince = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {EventSource | undefined} */
  let source;
  let asking = new AbortController();

  function close() {
    clearTimeout(timer);
    asking.abort();
    source?.close();
    source = undefined;
  }

  function open() {
    close();
    if (document.hidden) return;
    const opened = new EventSource(EVENTS);
    source = opened;
    for (const event of events) {
      opened.addEventListener(event, ({ data }) => {
        if (source !== opened) return;
        heardAt = silentSince = Date.now();
        dispatch(event, data);
        if (event !== 'hello') return;
        retryMs = RETRY_MS.first;
        lostAt = undefined;
        onChange({ kind: 'live' });
      });
    }
    opened.addEventListener('error', () => {
      if (source === opened) void lose();
    });
    silentSince = Date.now();
  }

  /**
   * @template {keyof Messages} E
   * @param {E} event
   * @param {string} data
   */
  function dispatch(event, data) {
    handlers[event](/** @type {Messages[E]} */ (JSON.parse(data)));
  }

  async function lose() {
    close();
    lostAt ??= heardAt ?? Date.now();
    const since = lostAt;
    timer = setTimeout(open, retryMs);
    retryMs = Math.min(RETRY_MS.longest, retryMs * 1.6);
    onChange({ kind: 'lost', since, why: '' });
    asking = new AbortController();
    const why = await whyRefused(asking);
    if (why !== '' && lostAt === since) onChange({ kind: 'lost', since, why });
  }

  // Uses the wall clock: timers stop while a machine sleeps, and the page is outdated when it wakes.
  setInterval(() => {
    if (source && Math.abs(Date.now() - silentSince) > LONGEST_SILENCE_MS) void lose();
  }, LOOK_MS);
  document.addEventListener('visibilitychange', () => {
    if (lostAt === undefined) onChange({ kind: 'connecting' });
    open();
  });

  window.addEventListener('online', open);
  // A browser closes the connections of a page in its back-forward cache.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) open();
  });
  onChange({ kind: 'connecting' });
  open();
}

/**
 * Returns the server's message when it refuses a connection; '' if it does not answer, or does not refuse.
 *
 * @param {AbortController} looking
 */
async function whyRefused(looking) {
  try {
    const answer = await fetch(EVENTS, { signal: looking.signal, cache: 'no-store' });
    return answer.ok ? '' : (await answer.text()).trim();
  } catch {
    return '';
  } finally {
    looking.abort();
  }
}
