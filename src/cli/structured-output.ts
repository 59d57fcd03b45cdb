import { stringify } from 'yaml';

/** A value as JSON or YAML; what is undefined is left out. */
export function structured(value: object, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, undefined, 2);
  return format === 'json' ? `${json}\n` : stringify(JSON.parse(json), { lineWidth: 0 });
}
