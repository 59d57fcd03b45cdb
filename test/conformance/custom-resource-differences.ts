import { GROUP } from '../../src/election/model.ts';
import type { NormalAnswer } from './differential/normal.ts';
import { isFailure, type KnownDifference, onBoth } from './reconciliation.ts';

interface Cause {
  readonly field: string;
  readonly reason: string;
}

/**
 * The ways in which a real server with the CustomResourceDefinition of LeaseCandidates may answer differently from
 * the embedded server.
 */
export const customResourceDifferences: readonly KnownDifference[] = [
  {
    title: 'Other problems of a custom resource with a wrong kind',
    reason: 'A real server does not drop its unknown fields, and reports them as problems, too.',
    reconcile: onBoth((answer) =>
      withCauses(answer, (causes) => {
        const ofKind = causes.filter(({ field }) => field === 'kind');
        return ofKind.length > 0 ? ofKind : causes;
      }),
    ),
  },
  {
    title: 'Warnings with the refusal of a custom resource in an unserved version',
    reason: 'A real server has no schema of such a version, and warns of each field.',
    reconcile: ({ real, embedded }, { path }) => ({
      real: path.includes(GROUP) && isFailure(real, 400) ? { ...real, unknownFields: [] } : real,
      embedded:
        path.includes(GROUP) && isFailure(embedded, 400) ? { ...embedded, unknownFields: [] } : embedded,
    }),
  },
  {
    title: 'The priority 1.0 or 1e2 of a custom resource',
    reason: 'The embedded server accepts it as an integer. A real server refuses it by the validation rule.',
  },
  {
    title: 'Invalid paths below custom resources',
    reason:
      'Another handler of a real server answers them: with status 404 in plain text, or about the object at the beginning of the path.',
  },
  {
    title: 'Custom resources in protobuf',
    reason: 'A real server closes the connection. The embedded one answers with status 415.',
  },
  {
    title: 'The rules of custom resources in OpenAPI',
    reason: 'The embedded server applies them, but does not publish them in x-kubernetes-validations.',
  },
];

/** A refusal of a custom resource with other causes. */
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
    body: { ...body, details: { ...body.details, causes: change(causes) } },
  };
}
