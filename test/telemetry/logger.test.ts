import { describe, expect, test } from 'vitest';
import { createLogger } from '../../src/telemetry/logger.ts';

function captureLog(level: 'debug' | 'info' | 'warn' | 'error') {
  const lines: string[] = [];
  const logger = createLogger({ level, destination: { write: (line) => lines.push(line) } });
  return { logger, entries: () => lines.map((line): Record<string, unknown> => JSON.parse(line)) };
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

  test('leaves out what is below its level', () => {
    const { logger, entries } = captureLog('warn');
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.error('d');
    expect(entries().map(({ msg }) => msg)).toEqual(['c', 'd']);
  });

  test("tells an error's message, stack and cause under err", () => {
    const { logger, entries } = captureLog('info');
    logger.error({ err: new Error('write failed', { cause: new Error('reset') }) }, 'Could not write');
    expect(entries()).toMatchObject([
      {
        err: { type: 'Error', message: 'write failed: reset', stack: expect.stringContaining('logger.test') },
      },
    ]);
  });
});
