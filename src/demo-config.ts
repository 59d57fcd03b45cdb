import { boolean, type LogFormat, logFormat } from './setting-values.ts';
import type { SettingsTable } from './settings-table.ts';

/** Everything the `demo` command can be told, validated. */
export interface DemoSettings {
  /** Run the scripted tour and end, rather than go on until told to stop. */
  readonly once: boolean;
  readonly logFormat: LogFormat;
}

/** Every setting of `demo`. */
export const demoSettings: SettingsTable<DemoSettings> = {
  envPrefix: 'CLE_DEMO',
  settings: {
    once: {
      flag: 'once',
      default: 'false',
      description: 'play a scripted tour and end: elect, failover, preempt, conflict, recovery',
      group: 'Demonstration:',
      parse: boolean,
    },
    logFormat: {
      flag: 'log-format',
      placeholder: '<format>',
      default: 'text',
      description: 'of what is told line by line: text to read, or json as run logs it',
      group: 'Demonstration:',
      parse: logFormat,
    },
  },
};
