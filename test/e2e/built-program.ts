import { readFileSync } from 'node:fs';
import type { CoordinatorProgram } from './coordinator.ts';

const dockerfile = new URL('../../Dockerfile', import.meta.url);

/** The built program, with the environment of the image. */
export const builtProgram: CoordinatorProgram = {
  main: new URL('../../dist/main.js', import.meta.url),
  env: environmentOf(readFileSync(dockerfile, 'utf8')),
};

/** The ENV instructions in the last stage of a Dockerfile, without PATH, which is for the image's own files. */
export function environmentOf(text: string): Readonly<Record<string, string>> {
  const lastStage = text.slice(text.lastIndexOf('\nFROM '));
  const settings = [...lastStage.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  const { PATH: _, ...environment } = variablesOf(settings);
  return environment;
}

/** Variables written as `NAME=value`; the value may have further `=`. */
export function variablesOf(settings: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    settings.map((each) => {
      const at = each.indexOf('=');
      return [each.slice(0, at), each.slice(at + 1)];
    }),
  );
}
