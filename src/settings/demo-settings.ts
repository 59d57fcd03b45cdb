import type { ListenAddress } from '../support/address.ts';
import { boolean, boundAddress, type LogFormat, logFormat, type SettingsTable } from './settings-table.ts';

/** Everything the `demo` command can be told, validated. */
export interface DemoSettings {
  /** Run the scripted tour and end, rather than go on until told to stop. */
  readonly once: boolean;
  readonly logFormat: LogFormat;
  /** Where the status page is served. */
  readonly listen: ListenAddress;
  /** Whether the status page is opened in a browser, where there is one to see. */
  readonly open: boolean;
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
    listen: {
      flag: 'listen',
      placeholder: '<host:port>',
      default: '127.0.0.1:0',
      defaultNote: 'a free port of this machine',
      description: 'serve the status page there; the tour has none',
      group: 'Demonstration:',
      parse: boundAddress,
    },
    open: {
      flag: 'open',
      default: 'true',
      description: 'leave it to you to open the status page in a browser',
      group: 'Demonstration:',
      parse: boolean,
    },
  },
};
