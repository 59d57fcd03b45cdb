import { styleText } from 'node:util';
import type { Environment } from '../support/host.ts';
import type { TextOutput } from './text-output.ts';

/** How a piece of text is to stand out. */
export type Style = 'strong' | 'dim' | 'good' | 'warning' | 'bad';

/** Makes text stand out, or leaves it as it is where there are no colours. */
export type Paint = (style: Style, text: string) => string;

const FORMATS: Readonly<Record<Style, Parameters<typeof styleText>[0]>> = {
  strong: 'bold',
  dim: 'dim',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
};

export const plain: Paint = (_style, text) => text;
export const coloured: Paint = (style, text) => styleText(FORMATS[style], text, { validateStream: false });

/** Colours for a terminal, unless NO_COLOR is set or the terminal is a dumb one. */
export function paintFor(output: TextOutput, env: Environment): Paint {
  const hasColours = output.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return hasColours ? coloured : plain;
}
