/**
 * @typedef {import('../wire.ts').Messages} Messages
 * @typedef {{ kind: 'connecting' } | { kind: 'live' } | { kind: 'lost', since: number, why: string }} Connection
 * @typedef {{ [E in keyof Messages]: (message: Messages[E]) => void }} Handlers
 */

const EVENTS = 'status/events';
/** The server says something every 10 s at least. */
const LONGEST_SILENCE_MS = 25_000;
const RETRY_MS = { first: 1000, longest: 10_000 };

/**
 * Keeps a connection to the stream of messages, for as long as the page is open.
 *
 * @param {Handlers} handlers
 * @param {(connection: Connection) => void} onChange
 */
export function connect(handlers, onChange) {
  const events = /** @type {readonly (keyof Messages)[]} */ (Object.keys(handlers));
  let retryMs = RETRY_MS.first;
  /** @type {number | undefined} */
  let lostAt;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {EventSource | undefined} */
  let source;

  function open() {
    clearTimeout(timer);
    source?.close();
    const opened = new EventSource(EVENTS);
    source = opened;
    for (const event of events) {
      opened.addEventListener(event, ({ data }) => {
        if (source !== opened) return;
        expectMore();
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
    expectMore();
  }

  /**
   * @template {keyof Messages} E
   * @param {E} event
   * @param {string} data
   */
  function dispatch(event, data) {
    handlers[event](/** @type {Messages[E]} */ (JSON.parse(data)));
  }

  function expectMore() {
    clearTimeout(timer);
    timer = setTimeout(() => void lose(), LONGEST_SILENCE_MS);
  }

  async function lose() {
    clearTimeout(timer);
    source?.close();
    source = undefined;
    lostAt ??= Date.now();
    const since = lostAt;
    timer = setTimeout(open, retryMs);
    retryMs = Math.min(RETRY_MS.longest, retryMs * 1.6);
    onChange({ kind: 'lost', since, why: '' });
    const why = await whyRefused();
    if (why !== '' && lostAt === since) onChange({ kind: 'lost', since, why });
  }

  window.addEventListener('online', open);
  // A browser that brings a page back as it was has ended its connections.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) open();
  });
  onChange({ kind: 'connecting' });
  open();
}

/** What the server says to a connection that it refuses; '' where it does not answer, or does not refuse. */
async function whyRefused() {
  const looking = new AbortController();
  try {
    const answer = await fetch(EVENTS, { signal: looking.signal, cache: 'no-store' });
    return answer.ok ? '' : (await answer.text()).trim();
  } catch {
    return '';
  } finally {
    looking.abort();
  }
}
