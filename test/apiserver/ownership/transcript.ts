import { isJsonObject, type JsonObject } from '../../../src/support/json.ts';
import type { Step, Story } from './stories.ts';

/** The result of a step: the stored object, or the Status of the refusal. */
export type Outcome =
  | { readonly kind: 'stored'; readonly object: JsonObject }
  | { readonly kind: 'refused'; readonly status: JsonObject };

/** Returns a story as text, with the result of each step. A time of managedFields is shown as the step of that time. */
export function transcriptOf(
  story: Story,
  outcomes: readonly Outcome[],
  stepOf: (time: string) => string,
): string {
  const parts = story.steps.map((step, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined) throw new Error(`step ${index + 1} of "${story.name}" did not happen`);
    return [`${index + 1}. ${headline(step)}`, ...outcomeLines(outcome, stepOf)].join('\n');
  });
  return [`# ${story.kind}: ${story.name}`, ...parts].join('\n');
}

function headline({ verb, manager, apiVersion, body, force }: Step): string {
  return `${manager}: ${verb}${force ? ' --force' : ''} ${apiVersion} ${JSON.stringify(body)}`;
}

function outcomeLines(outcome: Outcome, stepOf: (time: string) => string): string[] {
  if (outcome.kind === 'refused') {
    const { code, reason, details } = outcome.status;
    return [`   refused: ${JSON.stringify({ code, reason, details: inOrder(details) })}`];
  }
  const { metadata, apiVersion: _, kind: __, ...fields } = outcome.object;
  const { managedFields, ...meta } = isJsonObject(metadata) ? metadata : {};
  const shown = Object.fromEntries(
    ['generateName', 'labels', 'annotations', 'ownerReferences', 'finalizers'].flatMap((field) =>
      meta[field] === undefined ? [] : [[field, meta[field]]],
    ),
  );
  const entries: unknown[] = Array.isArray(managedFields) ? managedFields : [];
  return [
    `   ${JSON.stringify({ metadata: shown, ...fields })}`,
    ...entries.filter(isJsonObject).map((entry) => `   | ${entryText(entry, stepOf)}`),
  ];
}

/** A real server lists conflicts with several managers in random order. Messages are not compared. */
function inOrder(details: unknown): unknown {
  if (!isJsonObject(details) || !Array.isArray(details['causes'])) return details;
  const causes = details['causes'].map(({ message: _, ...cause }) => JSON.stringify(cause)).sort();
  return { ...details, causes: causes.map((cause) => JSON.parse(cause)) };
}

function entryText(entry: JsonObject, stepOf: (time: string) => string): string {
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource, ...others } = entry;
  const when = typeof time === 'string' ? stepOf(time) : 'never';
  const where = subresource === undefined ? '' : ` of ${String(subresource)}`;
  const rest = Object.keys(others).length === 0 ? '' : ` ${JSON.stringify(others)}`;
  return `${String(manager)} ${String(operation)} ${String(apiVersion)}${where} ${when} ${String(fieldsType)} ${JSON.stringify(sorted(fieldsV1))}${rest}`;
}

/** The value with its keys sorted. */
function sorted(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, each]): [string, unknown] => [key, sorted(each)]);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
