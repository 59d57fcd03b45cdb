import { type FieldError, invalid, notSupported } from '../errors/field-error.ts';
import { goJson } from '../schema/go-text.ts';
import type { ScalarSchema } from '../schema/schema.ts';
import { labelKeyProblems } from './names.ts';

/** The only strategy that Kubernetes itself has. Those of others have a domain: `example.com/theirs`. */
export const OLDEST_EMULATION_VERSION = 'OldestEmulationVersion';

export const strategySchema: ScalarSchema = { kind: 'string', goType: 'v1.CoordinatedLeaseStrategy' };

/** What is wrong with a strategy. The real server names the field twice: `spec.strategy.strategy`. */
export function validateStrategy(strategy: string, parent: string): readonly FieldError[] {
  const field = `${parent}.strategy`;
  if (!strategy.includes('/')) {
    const supported = [OLDEST_EMULATION_VERSION];
    return supported.includes(strategy) ? [] : [notSupported(field, strategy, supported, goJson)];
  }
  return labelKeyProblems(strategy).map((problem) => invalid(field, strategy, problem, goJson));
}
