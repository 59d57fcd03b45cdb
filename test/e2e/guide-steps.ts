import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandBlock } from '../support/command-blocks.ts';
import { missingLine } from '../support/masked-output.ts';
import type { Shell } from './runbooks/shell.ts';

/** Commands that change nothing, and so may be given again until they show what they should. */
const looking =
  /^(?:kubectl (?:api-resources|get|describe|logs|cle (?:status|explain|plan|doctor)) |helm (?:history|status|test) |\w+=\$\(kubectl get )/;

/** So long they are given again, in milliseconds. */
const PATIENCE_MS = 40_000;

/** Whether the comment above a block says that it cannot be run here, with the reason. */
export function isNotRun({ comment }: CommandBlock): boolean {
  return comment?.startsWith('not run: ') ?? false;
}

/** Does what a guide says. @throws Error where the commands fail, or do not print what the guide shows. */
export async function followBlock(shell: Pick<Shell, 'run'>, block: CommandBlock): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { code, output } = await shell.run(block.text);
    const missing = block.output === undefined ? undefined : missingLine(block.output, output);
    if (code === 0 && missing === undefined) return;
    if (!onlyLooks(block) || performance.now() > deadline) {
      const lacks = missing === undefined ? '' : ` and did not print: ${missing}`;
      throw new Error(`${block.text}\nended with ${code}${lacks}\n${output}`);
    }
    await sleep(500);
  }
}

function onlyLooks({ text }: CommandBlock): boolean {
  const commands = text.replaceAll('\\\n', ' ').split('\n');
  return commands.every((command) => looking.test(command));
}
