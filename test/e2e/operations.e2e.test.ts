import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandBlock, commandBlocksIn } from '../support/command-blocks.ts';
import { missingLine } from '../support/masked-output.ts';
import { builtIn, coordinatorTurns, lateWrites, overlaps } from './coordinator-turns.ts';
import { type OperationsSite, startOperationsSite } from './operations-site.ts';

const guide = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const blocks = commandBlocksIn(guide);

/** The comment above a block that cannot be run here, with the reason. */
const isNotRun = ({ comment }: CommandBlock) => comment?.startsWith('not run: ') ?? false;

/** Commands that change nothing, and so may be given again until they show what they should. */
const looking =
  /^(?:kubectl (?:api-resources|get|describe|logs|cle (?:status|explain|plan|doctor)) |helm (?:history|status|test) |\w+=\$\(kubectl get )/;

function onlyLooks({ text }: CommandBlock): boolean {
  const commands = text.replaceAll('\\\n', ' ').split('\n');
  return commands.every((command) => looking.test(command));
}

let site: OperationsSite;
beforeAll(async () => {
  site = await startOperationsSite();
});
afterAll(async () => {
  await site?.stop();
});

describe('docs/operations.md', () => {
  test('has next to nothing that is not run', () => {
    expect(blocks.filter(isNotRun)).toHaveLength(1);
  });

  let failed: string | undefined;

  /** A step of somebody who goes no further when one of them has failed. */
  function step(name: string, take: () => Promise<void>): void {
    test(name, async () => {
      if (failed !== undefined) throw new Error(`those who follow the guide are stuck at: ${failed}`);
      failed = name;
      await take();
      failed = undefined;
    });
  }

  const last = blocks.findLast(({ heading }) => heading === 'See a first election');
  for (const block of blocks.filter((each) => !isNotRun(each))) {
    step(`line ${block.line}, ${block.heading}: ${firstLine(block)}`, () => follow(block));
    if (block === last) step('the same by what helm prints after an install', followNotes);
  }
});

async function followNotes(): Promise<void> {
  const notes = await site.shell.run('helm get notes coordinated-leader-election --namespace kube-system');
  const lines = notes.output.split('\n').filter((line) => !/^(?:\d\. |And )/.test(line));
  const script = lines.slice(lines.findIndex((line) => line.startsWith('kubectl '))).join('\n');
  const { code, output } = await site.shell.run(script);
  for (const shown of [
    'successfully rolled out',
    'holderIdentity: first-candidate',
    '"lease":"default/first-election"',
    'Succeeded',
  ]) {
    expect(output).toContain(shown);
  }
  expect(code).toBe(0);
}

async function follow(block: CommandBlock): Promise<void> {
  const deadline = performance.now() + 40_000;
  for (;;) {
    const { code, output } = await site.shell.run(block.text);
    const missing = block.output === undefined ? undefined : missingLine(block.output, output);
    if (code === 0 && missing === undefined) return;
    if (!onlyLooks(block) || performance.now() > deadline) {
      const lacks = missing === undefined ? '' : ` and did not print: ${missing}`;
      throw new Error(`${block.text}\nended with ${code}${lacks}\n${output}`);
    }
    await sleep(500);
  }
}

function firstLine({ text }: CommandBlock): string {
  return text.split('\n', 1)[0] ?? '';
}

test('never had two coordinators at once, from the install to the uninstall', async () => {
  const { turns } = coordinatorTurns(await site.audit.requests());
  expect(overlaps(turns)).toEqual([]);
  const ours = turns.filter(({ client }) => client !== builtIn);
  expect(ours.flatMap(lateWrites)).toEqual([]);
  // From one replica to the next: an upgrade, or a rollback.
  for (const [index, { client, until }] of turns.slice(0, -1).entries()) {
    const next = turns[index + 1];
    if (client !== builtIn && next && next.client !== builtIn) expect(next.from - until).toBeLessThan(2_000);
  }
  // One of the install, one or more of each upgrade and rollback, one after all replicas had gone.
  expect(ours.length).toBeGreaterThanOrEqual(5);
  expect(turns.at(-1)?.client).toBe(builtIn);
});
