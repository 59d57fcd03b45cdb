import type { TraceAttributes, TraceSpan } from '../../src/telemetry/election-traces.ts';

/** A trace as lines, one for each span and event, with seconds on the monotonic clock and what is not in its name. */
export function traceText(trace: TraceSpan): readonly string[] {
  return [
    spanText(trace),
    ...trace.events.map(
      ({ name, at, attributes }) => `  ${seconds(at)} ${[name, ...attributeTexts(attributes)].join(' ')}`,
    ),
    ...trace.children.map((child) => `  ${spanText(child)}`),
  ];
}

function spanText({ name, startedAt, endedAt, attributes, error }: TraceSpan): string {
  const failure = error === undefined ? [] : [`ERROR ${error}`];
  return [`${seconds(startedAt)}..${seconds(endedAt)}`, name, ...attributeTexts(attributes), ...failure].join(
    ' ',
  );
}

function attributeTexts(attributes: TraceAttributes): readonly string[] {
  return Object.entries(attributes).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const text = Array.isArray(value) ? `[${value.join('; ')}]` : String(value);
    return `${name.replace(/^cle\.|^http\.response\./, '')}=${text}`;
  });
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** A trace as a reader of the documentation is shown it, with seconds since its start. */
export function traceTree(trace: TraceSpan): string {
  const at = (instant: number) => ((instant - trace.startedAt) / 1000).toFixed(3);
  const row = (time: string, branch: string, name: string, attributes: TraceAttributes) =>
    `${time.padEnd(13)} ${branch}${[name.padEnd(10 - branch.length), ...attributeTexts(attributes)].join(' ')}`.trimEnd();
  const { ['cle.lease.namespace']: _, ['cle.lease.name']: __, ...attributes } = trace.attributes;
  const children = trace.children.map((child) =>
    row(`${at(child.startedAt)}..${at(child.endedAt)}`, '├ ', child.name, child.attributes),
  );
  return [
    row(`${at(trace.startedAt)}..${at(trace.endedAt)}`, '', trace.name, attributes),
    ...trace.events.flatMap(
      ({ name, at: instant, attributes: { 'cle.candidates': accounts, ...others } }) => [
        row(at(instant), '├ ', name, others),
        ...(Array.isArray(accounts) ? accounts.map((account) => `${' '.repeat(14)}│   ${account}`) : []),
      ],
    ),
    ...children.map((line, index) => (index === children.length - 1 ? line.replace('├', '└') : line)),
  ].join('\n');
}
