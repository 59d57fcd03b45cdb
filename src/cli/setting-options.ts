import { Option } from 'commander';
import {
  envName,
  type GivenFlags,
  rowsOf,
  type Setting,
  type SettingsTable,
} from '../settings/settings-table.ts';

/** Commander's options for a whole settings table. Their values stay text: the table alone parses and validates. */
export function settingOptions<S>(table: SettingsTable<S>): Option[] {
  return rowsOf(table).flatMap(([, setting]) => {
    const description = describe(setting, envName(table, setting));
    return setting.placeholder === undefined
      ? switchOptions(setting, description)
      : [valueOption(setting, setting.placeholder, description)];
  });
}

/** The settings among commander's option values, as the text that the table parses. */
export function givenFlags<S>(
  table: SettingsTable<S>,
  values: Readonly<Record<string, unknown>>,
): GivenFlags<S> {
  const given: { -readonly [K in keyof S]?: string } = {};
  for (const [key, setting] of rowsOf(table)) {
    const value = values[new Option(`--${setting.flag}`).attributeName()];
    if (value !== undefined) given[key] = String(value);
  }
  return given;
}

function valueOption(setting: Setting<unknown>, placeholder: string, description: string): Option {
  const option = new Option(`${shortFlag(setting)}--${setting.flag} ${placeholder}`, description).helpGroup(
    setting.group,
  );
  if (setting.repeatable) {
    option.argParser((value: string, previous: string | undefined) =>
      previous === undefined ? value : `${previous},${value}`,
    );
  }
  return option;
}

function shortFlag({ short }: Setting<unknown>): string {
  return short === undefined ? '' : `-${short}, `;
}

/** Both forms exist, as a flag must be able to overrule the environment either way; help shows the one that changes something. */
function switchOptions(setting: Setting<unknown>, description: string): Option[] {
  const isOnByDefault = setting.default === 'true';
  const on = new Option(`${shortFlag(setting)}--${setting.flag}`, description).helpGroup(setting.group);
  const off = new Option(`--no-${setting.flag}`, description).helpGroup(setting.group);
  return [on.hideHelp(isOnByDefault), off.hideHelp(!isOnByDefault)];
}

function describe(setting: Setting<unknown>, variable: string): string {
  const fallback = setting.defaultNote ?? setting.default;
  const env = setting.default === 'true' ? `${variable}=false` : variable;
  const isSwitch = setting.placeholder === undefined;
  return `${setting.description} (${isSwitch ? env : `${env}; default: ${fallback}`})`;
}
