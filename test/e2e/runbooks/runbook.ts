import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { debuglog } from 'node:util';
import type { RunbookName } from '../../../src/inspection/findings.ts';
import { type CommandBlock, commandBlocksIn } from '../../support/command-blocks.ts';
import type { Procedure } from '../../support/procedures.ts';
import type { Shell, ShellRun } from './shell.ts';

/** The expected result of a block of commands: patterns that all match its output, and an exit code, 0 by default. */
export type Wanted =
  | RegExp
  | readonly RegExp[]
  | { readonly output: RegExp | readonly RegExp[]; readonly code: number };

/** A runbook that a test follows in a shell, like a user on call. */
export interface Runbook {
  /**
   * Runs the only block of commands that contains `text`, unchanged, after the variables of earlier blocks. Repeats
   * it, like a user, until the result is as expected.
   * @throws Error after `timeoutMs`, default two minutes
   */
  follow(text: string, wanted: Wanted, timeoutMs?: number): Promise<string>;
  /** The same for a block that changes something: it runs only once. */
  act(text: string, wanted: Wanted): Promise<string>;
  /** Blocks that have not run, each by its line. */
  left(): readonly string[];
}

/** NODE_DEBUG=runbooks shows each command when it runs. */
const debug = debuglog('runbooks');

export async function openRunbook(name: RunbookName | Procedure, shell: Shell): Promise<Runbook> {
  const path = `docs/runbooks/${name}.md`;
  const markdown = await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const blocks = commandBlocksIn(markdown);
  const executed = new Set(blocks.filter(isAssignment));

  function find(text: string): CommandBlock {
    const [found, ...others] = blocks.filter(
      (block) => !isAssignment(block) && `${block.text}\n`.includes(text),
    );
    if (!found || others.length > 0) throw new Error(`${path}: not one block of commands has: ${text}`);
    return found;
  }

  async function run(block: CommandBlock): Promise<ShellRun> {
    executed.add(block);
    const variables = blocks.filter((other) => isAssignment(other) && other.line < block.line);
    const end = await shell.run([...variables, block].map((each) => each.text).join('\n'));
    debug('%s:%d ended with %d\n%s\n%s', path, block.line, end.code, block.text, end.output);
    return end;
  }

  function complaint(block: CommandBlock, { code, output }: ShellRun, problem: string): Error {
    return new Error(`${path}:${block.line} ${problem}\n${block.text}\nended with ${code}:\n${output}`);
  }

  async function follow(text: string, wanted: Wanted, timeoutMs = 120_000): Promise<string> {
    const block = find(text);
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const end = await run(block);
      const problem = differenceFrom(wanted, end);
      if (problem === undefined) return end.output;
      if (performance.now() > deadline) throw complaint(block, end, problem);
      await sleep(1000);
    }
  }

  return {
    follow,
    act: (text, wanted) => follow(text, wanted, 0),
    left: () =>
      blocks.filter((block) => !executed.has(block)).map(({ line, text }) => `${path}:${line} ${text}`),
  };
}

/** Whether a block only sets variables, which the user fills in. */
function isAssignment({ text }: CommandBlock): boolean {
  return text.split('\n').every((line) => /^[A-Z_]+=\S*$/.test(line));
}

function differenceFrom(wanted: Wanted, { code, output }: ShellRun): string | undefined {
  const { code: wantedCode, output: patterns } = 'code' in wanted ? wanted : { code: 0, output: wanted };
  if (code !== wantedCode) return `should end with ${wantedCode}`;
  const missing = [patterns].flat().find((pattern) => !pattern.test(output));
  return missing && `should print ${missing}`;
}
