import type { ListenAddress } from '../support/address.ts';
import { formatDurationMs, parseDurationMs } from '../support/text.ts';

/** How much is logged: the named level and everything more severe. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Reads a setting's text. `problem` completes the sentence `"<text>" ...` and says what would do. */
export type Parser<T> = (text: string) => { value: T } | { problem: string };

/** How lines are written. */
export type LogFormat = 'text' | 'json';

const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
// A namespace's name is a DNS label (RFC 1123).
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LOG_FORMATS: readonly LogFormat[] = ['text', 'json'];
const ADDRESS = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]\s]*)):(?<port>\d{1,5})$/;

/** Any text but none. */
export const text: Parser<string> = (given) => (given === '' ? { problem: 'is empty' } : { value: given });

/** true or false, under the names people give them in environments. */
export const boolean: Parser<boolean> = (given) => {
  if (['true', '1', 'yes', 'on'].includes(given.toLowerCase())) return { value: true };
  if (['false', '0', 'no', 'off'].includes(given.toLowerCase())) return { value: false };
  return { problem: 'is neither true nor false' };
};

/** A decimal whole number within bounds, both included. */
export function wholeNumber({ min, max }: { min: number; max: number }): Parser<number> {
  return (given) => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
    if (number >= min && number <= max) return { value: number };
    return { problem: `is not a whole number from ${min} to ${max}` };
  };
}

/** The shortest and the longest duration that will do, as people write them. */
interface DurationBounds {
  readonly min: string;
  readonly max: string;
}

/** A duration within bounds, both included, in milliseconds. */
export function duration({ min, max }: DurationBounds): Parser<number> {
  const minMs = parseDurationMs(min) ?? 0;
  const maxMs = parseDurationMs(max) ?? 0;
  return (given) => {
    const durationMs = parseDurationMs(given);
    if (durationMs === undefined) return { problem: 'is not a duration; give e.g. 10s or 1500ms' };
    if (durationMs < minMs) return { problem: `is too short; give at least ${formatDurationMs(minMs)}` };
    if (durationMs > maxMs) return { problem: `is too long; give at most ${formatDurationMs(maxMs)}` };
    return { value: durationMs };
  };
}

/** A duration within bounds, both included, in seconds, for what the API keeps as a whole number of them. */
export function wholeSeconds(bounds: DurationBounds): Parser<number> {
  const parseMs = duration(bounds);
  return (given) => {
    const result = parseMs(given);
    if ('problem' in result) return result;
    if (result.value % 1000 !== 0) return { problem: 'is not a whole number of seconds' };
    return { value: result.value / 1000 };
  };
}

/** Names separated by commas; none at all stands for every namespace. */
export const namespaces: Parser<readonly string[]> = (given) => {
  const names = given
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const wrong = names.find((name) => !NAMESPACE.test(name));
  if (wrong !== undefined) return { problem: `names a namespace that cannot exist: ${wrong}` };
  return { value: [...new Set(names)] };
};

/** The name of one namespace. */
export const oneNamespace: Parser<string> = (given) => {
  const result = namespaces(given);
  if ('problem' in result) return result;
  const [only, ...more] = result.value;
  return only !== undefined && more.length === 0 ? { value: only } : { problem: 'is not one namespace' };
};

/** `host:port`, `[ipv6]:port`, `:port` for every IPv4 address, or `off`. */
export const listenAddress: Parser<ListenAddress | undefined> = (given) => {
  if (given === 'off') return { value: undefined };
  const groups = ADDRESS.exec(given)?.groups;
  const port = Number(groups?.['port']);
  if (groups === undefined || port > 65_535) {
    return { problem: 'is not host:port; give e.g. 0.0.0.0:8080, [::]:8080 or off' };
  }
  return { value: { host: groups['v6'] ?? (groups['host'] || '0.0.0.0'), port } };
};

/** `host:port` or `[ipv6]:port`; the host has to be named, so that nothing is laid open by leaving something out. */
export const boundAddress: Parser<ListenAddress> = (given) => {
  const result = given.startsWith(':') ? undefined : listenAddress(given);
  if (result && 'value' in result && result.value) return { value: result.value };
  return { problem: 'is not host:port; give e.g. 127.0.0.1:6443 or [::1]:6443' };
};

/** One of the {@link LogLevel}s. */
export const logLevel: Parser<LogLevel> = oneOf(LOG_LEVELS);

/** One of the {@link LogFormat}s. */
export const logFormat: Parser<LogFormat> = oneOf(LOG_FORMATS);

/** Some of `words`, separated by commas, in the order of `words`; or `none`. */
export function noneOrSome<T extends string>(words: readonly T[]): Parser<readonly T[]> {
  return (given) => {
    if (given === 'none') return { value: [] };
    const named = given.split(',').map((word) => word.trim());
    const wrong = named.find((name) => !words.some((word) => word === name));
    if (wrong === undefined) return { value: words.filter((word) => named.includes(word)) };
    return { problem: `names ${wrong || 'nothing'}; give some of ${words.join(',')}, or none` };
  };
}

function oneOf<T extends string>(words: readonly T[]): Parser<T> {
  return (given) => {
    const found = words.find((word) => word === given);
    return found === undefined ? { problem: `is none of ${words.join(', ')}` } : { value: found };
  };
}
