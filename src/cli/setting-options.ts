import { Option } from 'commander';
import { envName, type GivenFlags, type RunSettings, runSettings, type Setting } from '../config.ts';

/** Commander's options for the whole settings table. Their values stay text: the table alone parses and validates. */
export function settingOptions(): Option[] {
  return Object.values(runSettings).flatMap((setting: Setting<unknown>) =>
    setting.placeholder === undefined ? switchOptions(setting) : [valueOption(setting, setting.placeholder)],
  );
}

/** The settings among commander's option values, as the text that the table parses. */
export function givenFlags(values: Readonly<Record<string, unknown>>): GivenFlags {
  const given: { -readonly [K in keyof RunSettings]?: string } = {};
  for (const [key, setting] of settingsByKey()) {
    const value = values[new Option(`--${setting.flag}`).attributeName()];
    if (value !== undefined) given[key] = String(value);
  }
  return given;
}

function settingsByKey(): [keyof RunSettings, Setting<unknown>][] {
  return Object.entries(runSettings) as [keyof RunSettings, Setting<unknown>][];
}

function valueOption(setting: Setting<unknown>, placeholder: string): Option {
  const short = setting.short === undefined ? '' : `-${setting.short}, `;
  const option = new Option(`${short}--${setting.flag} ${placeholder}`, describe(setting)).helpGroup(
    setting.group,
  );
  if (setting.repeatable) {
    option.argParser((value: string, previous: string | undefined) =>
      previous === undefined ? value : `${previous},${value}`,
    );
  }
  return option;
}

/** Both forms exist, as a flag must be able to overrule the environment either way; help shows the one that changes something. */
function switchOptions(setting: Setting<unknown>): Option[] {
  const isOnByDefault = setting.default === 'true';
  const on = new Option(`--${setting.flag}`, describe(setting)).helpGroup(setting.group);
  const off = new Option(`--no-${setting.flag}`, describe(setting)).helpGroup(setting.group);
  return [on.hideHelp(isOnByDefault), off.hideHelp(!isOnByDefault)];
}

function describe(setting: Setting<unknown>): string {
  const fallback = setting.defaultNote ?? setting.default;
  const env = setting.default === 'true' ? `${envName(setting)}=false` : envName(setting);
  const isSwitch = setting.placeholder === undefined;
  return `${setting.description} (${isSwitch ? env : `${env}; default: ${fallback}`})`;
}
