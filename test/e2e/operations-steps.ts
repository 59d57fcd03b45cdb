import { readFileSync } from 'node:fs';
import { type CommandBlock, commandBlocksIn } from '../support/command-blocks.ts';

/** A block of commands, with the page of docs/ that it is on. */
export interface Step extends CommandBlock {
  readonly page: string;
}

/** The commands of a page of docs/, or of those of its sections whose headings match. */
export function stepsOf(page: string, headings = /(?:)/): readonly Step[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  return commandBlocksIn(text)
    .filter(({ heading }) => headings.test(heading))
    .map((block) => ({ ...block, page }));
}

/** The way through the tutorials and how-to guides on any cluster, in order. */
export const stepsOnAnyCluster: readonly Step[] = [
  ...stepsOf('how-to/install.md', /^(?:Before you begin|On kind|Any cluster)$/),
  ...stepsOf('tutorials/first-election.md'),
  ...stepsOf('how-to/uninstall.md', /^(?!.*with the feature gate)/),
];

/** The way on a cluster with the feature gate. */
export const stepsWithGate: readonly Step[] = [
  ...stepsOf('how-to/install.md', /^A cluster with the feature gate/),
  ...stepsOf('tutorials/kube-scheduler.md'),
  ...stepsOf('how-to/troubleshooting.md'),
  ...stepsOf('how-to/size.md'),
  ...stepsOf('how-to/move-leaders.md'),
  ...stepsOf('how-to/upgrade.md'),
  ...stepsOf('how-to/grant-rights.md'),
  ...stepsOf('how-to/crash-evidence.md'),
  ...stepsOf('how-to/leader-service.md'),
  ...stepsOf('how-to/install.md', /^Limit it to namespaces$/),
  ...stepsOf('how-to/recover.md'),
  ...stepsOf('how-to/uninstall.md', /^(?!.*on any cluster)/),
];
