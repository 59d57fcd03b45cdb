import type { LogFormat } from '../settings/settings-table.ts';
import { printable, shortened } from '../support/text.ts';
import type { Happening } from './happening.ts';
import { describeHappening, timeOfDay } from './wording.ts';

/** In characters. */
const LONGEST = 1000;

/** Takes what is told line by line. */
export interface HappeningLines {
  /** What the demo itself has to say. */
  say(text: string): void;
  happened(happening: Happening): void;
}

/**
 * Lines for people to read, or as `run` logs them.
 *
 * @param indent goes before what happens, where that is part of something else.
 */
export async function openLines(
  format: LogFormat,
  output: { write(text: string): unknown },
  indent = '',
): Promise<HappeningLines> {
  if (format === 'text') {
    return {
      say: (text) => output.write(`${text}\n`),
      happened: (happening) =>
        output.write(
          `${indent}${timeOfDay(happening.at)}Z ${shortened(printable(describeHappening(happening)), LONGEST)}\n`,
        ),
    };
  }
  // Only needed for this, and slow to load.
  const { createLogger } = await import('../telemetry/logger.ts');
  const logger = createLogger({ level: 'debug', destination: output });
  return {
    say: (text) => logger.info({ text }, 'The demo says'),
    happened: ({ who, reason, text, isTrouble }) =>
      logger[isTrouble ? 'warn' : 'info']({ who, reason, text }, 'Happened'),
  };
}
