import { demoSettings } from '../settings/demo-settings.ts';
import { runSettings } from '../settings/run-settings.ts';
import { serveSettings } from '../settings/serve-settings.ts';
import { envName, rowsOf, SettingsError, type SettingsTable } from '../settings/settings-table.ts';
import type { Environment } from '../support/host.ts';

/**
 * The command that is meant where none is named. Options tell, as long as they are those of one command; without any,
 * only an environment made for `run` means to have a cluster coordinated: what KUBECONFIG and ~/.kube/config name is
 * whichever cluster somebody looked at last.
 *
 * @throws {SettingsError} when the options given belong to different commands, or to one that has to be named.
 */
export function impliedCommand(args: readonly string[], env: Environment): 'run' | 'demo' {
  if (args.length === 0) return isMadeForRun(env) ? 'run' : 'demo';
  const given = optionsAmong(args);
  const ofRun = given.filter((flag) => isOption(flag, runSettings));
  const [ofDemo] = given.filter((flag) => isOption(flag, demoSettings) && !isOption(flag, runSettings));
  const [ofServe] = given.filter((flag) => isOption(flag, serveSettings) && !isOption(flag, runSettings));
  if (ofServe !== undefined)
    throw new SettingsError([`${ofServe} is an option of serve: ${nameIt('serve')}`]);
  if (ofDemo === undefined) return 'run';
  if (ofRun.length === 0) return 'demo';
  throw new SettingsError([
    `${ofDemo} is an option of demo, but ${ofRun.join(', ')} of run: ${nameIt('demo')}, or ${nameIt('run')}`,
  ]);
}

function isMadeForRun(env: Environment): boolean {
  const names = rowsOf(runSettings).map(([, setting]) => envName(runSettings, setting));
  return ['KUBERNETES_SERVICE_HOST', ...names].some((name) => Boolean(env[name]));
}

/** The long options, and the short ones, as they are spelled in the help. */
function optionsAmong(args: readonly string[]): readonly string[] {
  return args
    .filter((arg) => arg.startsWith('-'))
    .map((arg) => (arg.startsWith('--') ? (arg.split('=', 1)[0] ?? arg) : arg.slice(0, 2)));
}

function isOption<S>(flag: string, table: SettingsTable<S>): boolean {
  return rowsOf(table).some(([, { flag: long, short }]) =>
    [`--${long}`, `--no-${long}`, `-${short}`].includes(flag),
  );
}

function nameIt(command: string): string {
  return `npm start -- ${command} ...`;
}
