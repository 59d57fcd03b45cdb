import { GROUP } from '../../src/election/group.ts';
import type { NormalAnswer } from './differential/normal.ts';
import { isFailure, type KnownDifference, onBoth, onReal } from './reconciliation.ts';

interface Cause {
  readonly field: string;
  readonly message: string;
}

/** Where a real server with the custom resource definition of LeaseCandidates may answer otherwise than the embedded one. */
export const customResourceDifferences: readonly KnownDifference[] = [
  {
    title: 'Whether a version that is none is higher than another',
    reason:
      'The rule of the custom resource definition compares any texts, and may add to what is wrong with a version that it is too high.',
    reconcile: onReal((answer) =>
      withCauses(answer, (causes) => {
        const isNone = causes.some(
          ({ field, message }) => /Version$/.test(field) && message.includes('set it to a semantic version'),
        );
        return causes.filter(({ message }) => !isNone || !message.includes('must not be higher than'));
      }),
    ),
  },
  {
    title: 'What else is wrong with a custom resource that says it is of another kind',
    reason: 'A real server does not leave out its unknown fields, and trips over them.',
    reconcile: onBoth((answer) =>
      withCauses(answer, (causes) => {
        const ofKind = causes.filter(({ field }) => field === 'kind');
        return ofKind.length > 0 ? ofKind : causes;
      }),
    ),
  },
  {
    title: 'The order of what is wrong with a custom resource',
    reason: 'A real server takes the fields from a map, in any order.',
    reconcile: onBoth((answer) => withCauses(answer, (causes) => causes.toSorted(byText))),
  },
  {
    title: 'What is said of a custom resource of a version that is none',
    reason: 'A real server refuses it all the same, but calls its spec unknown first.',
    reconcile: onBoth((answer) => {
      const body = (answer.body ?? {}) as { readonly message?: unknown };
      const isSo = /\/v9\) does not match|^LeaseCandidate in version "v9"/.test(String(body.message));
      const { code } = answer;
      return isSo ? { ...answer, warnings: [], body: { ...body, message: `${code}: no version` } } : answer;
    }),
  },
  {
    title: 'Warnings of finalizers without a domain',
    reason: 'A real server advises against them where a custom resource has them.',
    reconcile: onReal((answer) => ({
      ...answer,
      warnings: answer.warnings.filter(
        (text) => !(text.startsWith('metadata.finalizers: ') && text.includes('prefer a domain-qualified')),
      ),
    })),
  },
  {
    title: 'The priority 1.0 or 1e2 of a custom resource',
    reason: 'It is a whole number to JSON, and to the embedded server; a real one refuses it by its rule.',
  },
  {
    title: 'Paths of custom resources that stand for nothing',
    reason:
      'Another handler of a real server answers them: status 404 as plain text, or about the object of which the path names a part.',
  },
  {
    title: 'Custom resources in protobuf',
    reason: 'A real server cuts the connection. The embedded one answers with status 415.',
  },
  {
    title: 'The rules of custom resources in OpenAPI',
    reason: 'The embedded server holds to them, but does not publish them in x-kubernetes-validations.',
  },
];

/** A refusal of a custom resource with other causes. The message, which is made of them, is left out. */
function withCauses(
  answer: NormalAnswer,
  change: (causes: readonly Cause[]) => readonly Cause[],
): NormalAnswer {
  if (!isFailure(answer, 422)) return answer;
  const body = answer.body as {
    readonly details?: { readonly group?: string; readonly causes?: readonly Cause[] };
  };
  const { group, causes } = body.details ?? {};
  if (group !== GROUP || causes === undefined) return answer;
  return {
    ...answer,
    body: { ...body, message: 'made of the causes', details: { ...body.details, causes: change(causes) } },
  };
}

function byText(one: Cause, other: Cause): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}
