import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { currentContent, generatedFiles } from '../../monitoring/generated-files.ts';

test.for([...(await generatedFiles())])(
  '$path is as alerts and dashboard have it (npm run docs brings it up to date)',
  async (file) => {
    expect(file.content.length).toBeGreaterThan(1000);
    expect(await currentContent(file)).toBe(file.content);
  },
);

test.each(['alerts.yaml', 'prometheus-rule.yaml', 'dashboard.json'])(
  'the links to runbooks in deploy/monitoring/%s lead somewhere from anywhere',
  async (name) => {
    const text = await readFile(new URL(`../../deploy/monitoring/${name}`, import.meta.url), 'utf8');
    const bases = [...text.matchAll(/(?:runbook_url: |")(\S*docs\/runbooks)/g)].map(([, base = '']) => base);
    expect(bases.length).toBeGreaterThan(0);
    expect(bases.filter((base) => !URL.canParse(base))).toEqual([]);
  },
);
