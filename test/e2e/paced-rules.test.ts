import { expect, test } from 'vitest';
import { pacedRules } from './prometheus.ts';

const rules = `
groups:
  - name: a
    rules:
      - alert: WithDuration
        expr: max(oldest_seconds) > 30
        for: 5m
      - alert: WithWindows
        expr: sum(rate(a_total[15m])) / sum(rate(b_total[90s])) > 4
`;

test('speeds up how long alerts take, and leaves alone what they compare with', () => {
  const paced = pacedRules(rules, 10);
  expect(paced).toContain('expr: max(oldest_seconds) > 30\n');
  expect(paced).toContain('for: 30000ms\n');
  expect(paced).toContain('expr: sum(rate(a_total[90000ms])) / sum(rate(b_total[9000ms])) > 4\n');
});

test('says which duration it cannot read', () => {
  expect(() => pacedRules(rules.replace('5m', '1h30m'), 10)).toThrow('1h30m is no duration of one unit');
});
