import { boundAddress, inGroup, option, type SettingsOf, settingsTable, toggle } from './settings-table.ts';

export const demoSettings = settingsTable(
  'CLE_DEMO',
  inGroup('Demonstration:', {
    once: toggle('once', 'play a scripted tour and end: elect, failover, preempt, conflict, recovery'),
    listen: option('listen', boundAddress, {
      description: 'serve the status page there; the tour has none',
      default: '127.0.0.1:0',
      defaultNote: 'a free port of this machine',
    }),
    open: toggle('open', 'do not open the status page in a browser', 'true'),
  }),
);

export type DemoSettings = SettingsOf<typeof demoSettings.settings>;
