import { customResourceDifferences } from './custom-resource-differences.ts';
import type { NormalAnswer } from './differential/normal.ts';
import type { Request } from './differential/request.ts';
import { type AnswerPair, isFailure, type KnownDifference, onBoth } from './reconciliation.ts';
import { mediaTypes } from './workspace.ts';

/** Returns the two answers without the known differences of this version. */
export function reconciled(answers: AnswerPair, request: Request, minor: number): AnswerPair {
  return knownDifferences
    .filter(({ minors }) => minors === undefined || minors.includes(minor))
    .reduce((pair, { reconcile }) => reconcile?.(pair, request) ?? pair, answers);
}

const before36 = [31, 32, 33];

export const knownDifferences: readonly KnownDifference[] = [
  {
    title: 'The descriptions of table columns',
    reason: 'They are documentation, and the embedded server has its own texts.',
    reconcile: onBoth((answer) => ({ ...answer, body: withoutDescriptions(answer.body) })),
  },
  ...customResourceDifferences,
  {
    title: 'Integers in the form 1.0 or 1e2',
    reason:
      'The embedded server accepts them, because JSON does not distinguish them. A real server refuses them.',
  },
  {
    title: 'A duplicate struct in a body',
    reason: 'The embedded server keeps the second one. A real server merges both.',
  },
  {
    title: 'kubectl apply --server-side after kubectl apply without it',
    reason:
      'A real server moves the ownership of the fields in the last-applied annotation to the new manager, and updates the annotation. The embedded one reports conflicts: use --force-conflicts.',
  },
  {
    title: 'The order of managedFields, conflicts and validation problems',
    reason: 'The embedded server sorts fields by their text. The content is the same.',
  },
  {
    title: 'Answers in protobuf',
    reason:
      'The embedded server accepts protobuf, which typed clients of client-go 0.32 and later send. It answers in JSON, which they accept as well.',
  },
  {
    title: 'Text after a YAML document',
    reason: 'A real server reads only the first document of a body. The embedded one refuses such a body.',
  },
  {
    title: 'metadata.selfLink in an answer',
    reason:
      'A real server drops the field when it stores an object, and returns it if it stores nothing: in a dry run, or when the last finalizer is removed. The embedded one never returns it.',
    reconcile: ({ real, embedded }, { options }) => ({
      real: JSON.stringify(options.body ?? '').includes('"selfLink":"/x"')
        ? { ...real, body: withoutSelfLink(real.body) }
        : real,
      embedded,
    }),
  },
  {
    title: 'A deletion with an invalid body',
    reason: 'Up to 1.33, a real server answers with an internal error.',
    minors: before36,
    reconcile: ({ real, embedded }, { method }) => ({
      real: method === 'DELETE' && isFailure(real, 500) ? asBadRequest(real) : real,
      embedded,
    }),
  },
  {
    title: 'A patch of an unknown type and without a body',
    reason: 'Up to 1.33, a real server answers 406 instead of 415.',
    minors: before36,
    reconcile: (answers, { method, options }) => {
      const isSo =
        method === 'PATCH' &&
        options.rawBody === '' &&
        isFailure(answers.real, 406) &&
        isFailure(answers.embedded, 415);
      return isSo ? { real: answers.embedded, embedded: answers.embedded } : answers;
    },
  },
  {
    title: 'A JSON patch with a path through null',
    reason: 'Up to 1.33, a real server panics, and cuts the connection.',
    minors: before36,
    reconcile: (answers, { options }) => {
      const isSo =
        options.contentType === mediaTypes.jsonPatch &&
        answers.real.code === 0 &&
        isFailure(answers.embedded, 422);
      return isSo ? { real: answers.embedded, embedded: answers.embedded } : answers;
    },
  },
  {
    title: 'A list at an invalid resourceVersion',
    reason: 'Up to 1.32, a real server answers with an internal error.',
    minors: [31, 32],
    reconcile: ({ real, embedded }, { path }) => ({
      real:
        /\/lease(candidate)?s\?.*resourceVersion=x/.test(path) && isFailure(real, 500)
          ? asBadRequest(real)
          : real,
      embedded,
    }),
  },
];

function asBadRequest(answer: NormalAnswer): NormalAnswer {
  return { ...answer, code: 400, body: { ...(answer.body as object), reason: 'BadRequest', code: 400 } };
}

function withoutDescriptions(body: unknown): unknown {
  const columns = (body as { readonly columnDefinitions?: unknown } | null)?.columnDefinitions;
  if (!Array.isArray(columns)) return body;
  const columnDefinitions = columns.map(({ description: _, ...column }) => column);
  return { ...(body as object), columnDefinitions };
}

function withoutSelfLink(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (field, value) => (field === 'selfLink' ? undefined : value));
}
