import { describe, expect, test } from 'vitest';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

function captureLog(level: 'debug' | 'info' | 'warn' | 'error') {
  const lines: string[] = [];
  const clock = new VirtualClock();
  const logger = createLogger({ level, clock, destination: { write: (line) => lines.push(line) } });
  return { logger, clock, entries: () => lines.map((line): Record<string, unknown> => JSON.parse(line)) };
}

describe('the logger', () => {
  test('writes one JSON object with an ISO time, the level as a word, the message and its keys, and no more', () => {
    const { logger, entries } = captureLog('info');
    logger.info({ lease: 'kube-system/a', candidates: 3 }, 'Elected a leader');
    expect(entries()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        lease: 'kube-system/a',
        candidates: 3,
        msg: 'Elected a leader',
      },
    ]);
  });

  test('escapes and truncates untrusted text for terminals', () => {
    const lines: string[] = [];
    const logger = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
    const holder = `\u202e\u009b2J${'x'.repeat(100_000)}`;
    logger.info({ holder, candidates: [{ name: holder }] }, 'Elected a leader');
    logger.warn({ err: new Error(holder) }, 'Could not write');
    for (const line of lines) {
      expect(line.length).toBeLessThan(5000);
      expect(line).not.toMatch(/[\u009b\u202e]/u);
      expect(line.endsWith('}\n')).toBe(true);
    }
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      holder: expect.stringMatching(/^\u202e\u009b2Jx+…$/u),
    });
  });

  test('omits lines below its level', () => {
    const { logger, entries } = captureLog('warn');
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.error('d');
    expect(entries().map(({ msg }) => msg)).toEqual(['c', 'd']);
  });

  test("writes an error's message, stack and cause under err", () => {
    const { logger, entries } = captureLog('info');
    logger.error({ err: new Error('write failed', { cause: new Error('reset') }) }, 'Could not write');
    expect(entries()).toMatchObject([
      {
        err: { type: 'Error', message: 'write failed: reset', stack: expect.stringContaining('logger.test') },
      },
    ]);
  });
});

describe('an error response of a server', () => {
  test.each([
    {
      name: 'a refusal',
      error: new ApiError({
        method: 'PATCH',
        path: '/x',
        status: 429,
        reason: 'TooManyRequests',
        message: 'busy',
        retryAfterMs: 1000,
      }),
      want: {
        type: 'ApiError',
        method: 'PATCH',
        path: '/x',
        message: 'PATCH /x was answered 429 TooManyRequests: busy',
        status: 429,
        reason: 'TooManyRequests',
        retryAfterMs: 1000,
      },
    },
    {
      name: 'none at all',
      error: new ConnectionError('GET /x: reset', { code: 'ECONNRESET', cause: new Error('reset') }),
      want: { type: 'ConnectionError', message: 'GET /x: reset', code: 'ECONNRESET' },
    },
  ])('is logged without a stack: $name', ({ error, want }) => {
    const { logger, entries } = captureLog('info');
    logger.warn({ err: error }, 'Write failed');
    expect(entries().map(({ err }) => err)).toEqual([want]);
  });
});

describe('under load', () => {
  const LEFT_OUT = 'Left out log lines, because there were too many';

  test('20 lines of a kind are written at once, then one per second, and every 10 s the number of dropped ones', async () => {
    const { logger, clock, entries } = captureLog('info');
    for (let at = 0; at < 10_000; at++) {
      logger.info({ lease: `default/l${at}` }, 'Changed a Lease');
      if (at % 10 === 9) await clock.advance(1);
    }
    expect(clock.now()).toBe(1000);
    expect(entries()).toHaveLength(20);
    await clock.advance(9010);
    const told = entries().slice(20);
    expect(told).toMatchObject([{ level: 'info', msg: LEFT_OUT, lines: { 'Changed a Lease': 9980 } }]);
    await clock.advance(60_000);
    expect(entries()).toHaveLength(21);
    expect(clock.pendingTimers).toBe(0);
  });

  test('an hour of it is a few thousand lines', async () => {
    const { logger, clock, entries } = captureLog('info');
    for (let second = 0; second < 3600; second++) {
      for (let at = 0; at < 5; at++) logger.error({ at }, 'Write failed');
      await clock.advance(1000);
    }
    const leftOut = entries().filter(({ msg }) => msg === LEFT_OUT);
    expect(entries().length - leftOut.length).toBe(20 + 3599);
    expect(leftOut).toHaveLength(359);
  });

  test('rare lines are still written', async () => {
    const { logger, entries } = captureLog('info');
    for (let at = 0; at < 10_000; at++) logger.info('Changed a Lease');
    logger.warn({ lease: 'default/a' }, 'Left a Lease as it is');
    logger.info('Stopping');
    expect(entries().slice(20)).toMatchObject([
      { level: 'warn', msg: 'Left a Lease as it is', lease: 'default/a' },
      { level: 'info', msg: 'Stopping' },
    ]);
  });

  test('lines that one namespace repeats too often are still written for others, once a minute', async () => {
    const { logger, clock, entries } = captureLog('info');
    const flood = () => {
      for (let at = 0; at < 100; at++) logger.warn({ lease: `noisy/l${at}` }, 'Left a Lease as it is');
    };
    const tell = (lease: string) => logger.warn({ lease }, 'Left a Lease as it is');
    const toldOf = (namespace: string) =>
      entries().filter(({ lease }) => String(lease).startsWith(`${namespace}/`)).length;
    flood();
    expect(toldOf('noisy')).toBe(20);
    tell('quiet/a');
    tell('quiet/b');
    expect(toldOf('quiet')).toBe(1);
    for (let second = 0; second < 61; second++) {
      await clock.advance(1000);
      flood();
    }
    expect(toldOf('noisy')).toBeLessThan(20 + 61 + 2);
    tell('quiet/b');
    expect(toldOf('quiet')).toBe(2);
    for (let at = 0; at < 1000; at++) tell(`n${at}/a`);
    expect(entries().length).toBeLessThan(20 + 61 + 10 + 30);
  });

  test('messages with variable text do not evade the limit', () => {
    const { logger, entries } = captureLog('info');
    for (let at = 0; at < 10_000; at++) logger.info(`Lease ${at} changed`);
    expect(entries()).toHaveLength(120);
    logger.end();
    expect(entries().at(-1)).toMatchObject({ msg: LEFT_OUT, lines: { 'other messages': 9880 } });
  });

  test('dropped lines are reported at the most severe of their levels, at the latest at the end', () => {
    const { logger, clock, entries } = captureLog('info');
    for (let at = 0; at < 30; at++) {
      logger.info('Changed a Lease');
      logger.error('Write failed');
    }
    logger.end();
    expect(entries().at(-1)).toMatchObject({
      level: 'error',
      msg: LEFT_OUT,
      lines: { 'Changed a Lease': 10, 'Write failed': 10 },
    });
    const { length } = entries();
    logger.end();
    expect(entries()).toHaveLength(length);
    expect(clock.pendingTimers).toBe(0);
  });

  test('at the lowest level, all lines are written', () => {
    const { logger, entries } = captureLog('debug');
    for (let at = 0; at < 1000; at++) logger.info('Changed a Lease');
    expect(entries()).toHaveLength(1000);
  });
});
