import type { ListenAddress } from '../support/address.ts';
import { boolean, boundAddress, type SettingsTable } from './settings-table.ts';

export interface DemoSettings {
  /** Run the scripted tour and end. */
  readonly once: boolean;
  /** Address of the status page. */
  readonly listen: ListenAddress;
  /** Open the status page in a browser, if there is one. */
  readonly open: boolean;
}

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
