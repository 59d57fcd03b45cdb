import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type AlertRule, alertRules } from '../../monitoring/alert-rules.ts';
import { procedures } from '../support/procedures.ts';

const rules = await alertRules();
const runbooks = new URL('../../docs/runbooks/', import.meta.url);
const cases = new URL('alerts/', import.meta.url);

interface PromtoolFile {
  readonly rule_files: readonly string[];
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly object[];
    }[];
  }[];
}

describe.for<AlertRule>([...rules])('$alert', ({ alert, labels, annotations }) => {
  test('has a severity, a subject and a link', () => {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(?:warning|critical)$/) });
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^[A-Z].{10,80}\.$/),
      description: expect.stringMatching(/^.{20,200}\.$/),
      runbook_url: `docs/runbooks/${alert}.md`,
    });
  });

  test('has a runbook with all sections', async () => {
    const runbook = await readFile(new URL(`${alert}.md`, runbooks), 'utf8');
    const headings = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
    expect(headings[0]).toBe(alert);
    expect(headings).toEqual(expect.arrayContaining(['Meaning', 'Impact', 'Diagnosis', 'Mitigation']));
  });

  test('has cases for promtool in which it fires and in which it must not', async () => {
    const { rule_files, tests } = parse(
      await readFile(new URL(`${alert}.yaml`, cases), 'utf8'),
    ) as PromtoolFile;
    expect(rule_files).toEqual(['../../../charts/coordinated-leader-election/files/alerts.yaml']);
    const checks = tests.flatMap((each) => each.alert_rule_test);
    expect(new Set(checks.map(({ alertname }) => alertname))).toEqual(new Set([alert]));
    const fires = checks.map(({ exp_alerts }) => exp_alerts.length > 0);
    expect(new Set(fires)).toEqual(new Set([true, false]));
  });
});

describe('no files are left of removed alerts', () => {
  const names = rules.map(({ alert }) => alert).sort();

  test('in the runbooks', async () => {
    const others = ['README', ...procedures].map((name) => `${name}.md`);
    const files = (await readdir(runbooks)).filter((name) => !others.includes(name));
    expect(files.sort()).toEqual(names.map((name) => `${name}.md`));
  });

  test('in the cases for promtool', async () => {
    expect((await readdir(cases)).sort()).toEqual(names.map((name) => `${name}.yaml`));
  });
});
