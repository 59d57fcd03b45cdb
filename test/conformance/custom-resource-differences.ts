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
    title: 'Warnings beside the refusal of a custom resource of a version that is not served',
    reason: 'A real server knows no fields of such a version, and warns of each.',
    reconcile: ({ real, embedded }, { path }) => ({
      real: path.includes(GROUP) && isFailure(real, 400) ? { ...real, unknownFields: [] } : real,
      embedded:
        path.includes(GROUP) && isFailure(embedded, 400) ? { ...embedded, unknownFields: [] } : embedded,
    }),
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
