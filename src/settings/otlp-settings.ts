import type { Environment } from '../support/host.ts';
import { SettingsError } from './settings-table.ts';

/** Where traces go, and who they say that they come from: what the variables that OpenTelemetry specifies tell. */
export interface OtlpSettings {
  /** Takes OTLP over HTTP, as protobuf. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For each hand-over of traces, repeated attempts included. */
  readonly timeoutMs: number;
  /** Of the resource; `service.name` among them where it is given. */
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Shorter than the 10 s that are customary: nobody waits for traces, and whoever stops this program should not have to
 * wait for an endpoint that is down.
 */
const TIMEOUT_MS = 2000;
const MAX_TIMEOUT_MS = 600_000;
const TRACES_PATH = 'v1/traces';
const PROTOCOL = 'http/protobuf';
const DISABLED = 'OTEL_SDK_DISABLED';

/**
 * Reads where traces are to go; undefined when nowhere.
 *
 * @throws {SettingsError} with all problems at once.
 */
export function readOtlpSettings(env: Environment): OtlpSettings | undefined {
  const given = (name: string) => env[name]?.trim() || undefined;
  const either = (name: string) =>
    [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`].find((each) => given(each));
  const endpoint = either('ENDPOINT');
  const isOff = given(DISABLED)?.toLowerCase() === 'true' || given('OTEL_TRACES_EXPORTER') === 'none';
  if (endpoint === undefined || isOff) return undefined;

  const problems: string[] = [];
  function read<T>(
    name: string | undefined,
    parse: (text: string) => T | undefined,
    want: string,
  ): T | undefined {
    const text = name && given(name);
    if (!text) return undefined;
    const value = parse(text);
    // Headers are for secrets, and problems go to the log.
    const shown = name.endsWith('HEADERS') ? 'what it says' : `"${text}"`;
    if (value === undefined) problems.push(`${name}: ${shown} ${want}`);
    return value;
  }
  const pairs = (name: string) => read(name, parsePairs, 'is not a list like key=value,other=value');

  const url = read(endpoint, parseUrl, 'is not the URL of an OTLP receiver; give e.g. http://collector:4318');
  read(
    either('PROTOCOL'),
    (text) => (text === PROTOCOL ? text : undefined),
    `is a protocol that is not spoken here; give ${PROTOCOL}, which is the default`,
  );
  const timeoutMs = read(
    either('TIMEOUT'),
    parseTimeout,
    `is not a whole number of milliseconds up to ${MAX_TIMEOUT_MS}`,
  );
  const headers = {
    ...pairs('OTEL_EXPORTER_OTLP_HEADERS'),
    ...pairs('OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
  };
  const serviceName = given('OTEL_SERVICE_NAME');
  const attributes = {
    ...pairs('OTEL_RESOURCE_ATTRIBUTES'),
    ...(serviceName !== undefined && { 'service.name': serviceName }),
  };
  if (problems.length > 0 || !url) throw new SettingsError(problems);
  // The one for traces is taken as it is, the one for everything is where each kind has a path below it.
  if (!endpoint.includes('TRACES')) url.pathname = `${url.pathname.replace(/\/*$/, '/')}${TRACES_PATH}`;
  return {
    url: url.href,
    headers,
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    attributes,
  };
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}

function parseTimeout(text: string): number | undefined {
  const timeoutMs = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  return timeoutMs <= MAX_TIMEOUT_MS ? timeoutMs : undefined;
}

/** As W3C baggage has it: values may be percent-encoded. */
function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => /^([^=\s]+)\s*=\s*(.*)$/.exec(pair));
  try {
    return Object.fromEntries(
      pairs.map((pair) => {
        if (!pair) throw new URIError('no pair');
        return [decodeURIComponent(pair[1] ?? ''), decodeURIComponent(pair[2] ?? '')];
      }),
    );
  } catch {
    return undefined;
  }
}
