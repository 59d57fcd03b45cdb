import { ApiError } from '../errors/api-error.ts';
import { goQuote } from '../schema/go-text.ts';
import { type Path, pathsOf } from './field-set.ts';
import type { Taken } from './manager-changes.ts';
import type { Manager, Managers } from './managers.ts';
import { pathText } from './path-element.ts';

/** A field that an applier would take from somebody. */
export interface Conflict {
  readonly manager: Manager;
  readonly path: Path;
}

/** Every field that would be taken, manager by manager. */
export function conflictsOf(taken: readonly Taken[], managers: Managers): readonly Conflict[] {
  return taken.flatMap(({ id, fields }) => {
    const manager = managers.get(id);
    return manager === undefined ? [] : pathsOf(fields).map((path) => ({ manager, path }));
  });
}

/** The answer to an apply that would take fields from others without having been told to. */
export function applyConflict(conflicts: readonly Conflict[]): ApiError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(manager)}`,
    field: pathText(path),
  }));
  return new ApiError(409, 'Conflict', messageOf(conflicts), { causes });
}

function messageOf(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${managerText(first.manager)}: ${pathText(first.path)}`;
  }
  const lines = conflicts.flatMap(({ manager, path }, index) => [
    ...(conflicts[index - 1]?.manager === manager ? [] : [`conflicts with ${managerText(manager)}:`]),
    `- ${pathText(path)}`,
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function managerText({ manager, operation, apiVersion, subresource }: Manager): string {
  const under = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`;
  const using = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${goQuote(manager)}${under}${using}`;
}
