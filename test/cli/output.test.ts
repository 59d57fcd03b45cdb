import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { plain, structured, tableLines, wrapped } from '../../src/cli/output.ts';
import { statusRows } from '../../src/cli/status.ts';
import type { LeaseStatus } from '../../src/inspection/lease-status.ts';

const columns = { allNamespaces: true, output: 'wide' } as const;

function status(holder: string): LeaseStatus {
  return {
    namespace: 'apps',
    name: 'a',
    holder,
    isHeld: true,
    preferredHolder: holder,
    strategy: holder,
    candidates: { Live: 1 },
    priorities: [{ value: 1, until: undefined, candidates: 1 }],
    ageSeconds: 1,
    renewedSecondsAgo: 1,
    leaseTransitions: 1,
    reason: 'LeaderOptimal',
    waitingFor: holder,
  } as unknown as LeaseStatus;
}

test.each([
  { what: 'a hundred thousand characters', holder: 'h'.repeat(100_000) },
  { what: 'a hundred thousand marks of direction', holder: '\u202e'.repeat(100_000) },
])('a holder with $what leaves room for the other columns', ({ holder }) => {
  const lines = tableLines(statusRows([status(holder)], columns), plain);
  for (const line of lines) expect(line.length).toBeLessThan(3000);
  expect(lines[0]?.indexOf('REASON')).toBeLessThan(500);
  expect(lines.join('')).not.toContain('\u202e');
});

test('a sentence about it is truncated', () => {
  expect(wrapped(`held by ${'h '.repeat(100_000)}`, 80, '').length).toBeLessThan(3000);
});

test.each(['json', 'yaml'] as const)(
  'in %s, nothing that it is called reaches a terminal as it is',
  (format) => {
    const holder = 'a\u001b[2J\u009b\u202eb: "c"\n\u2028d';
    const text = structured({ [holder]: holder, list: [holder], plain: 'yes' }, format);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
    expect(text.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e\u2028]/u);
    expect(parseYaml(text)).toEqual({ [holder]: holder, list: [holder], plain: 'yes' });
    expect(text).toContain(format === 'json' ? '"plain": "yes"' : 'plain: yes');
  },
);
