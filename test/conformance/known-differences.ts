import { customResourceDifferences } from './custom-resource-differences.ts';
import type { NormalAnswer } from './differential/normal.ts';
import type { Request } from './differential/request.ts';
import {
  type AnswerPair,
  isFailure,
  type KnownDifference,
  onBoth,
  onReal,
  sorted,
  texts,
} from './reconciliation.ts';
import { mediaTypes } from './workspace.ts';

/** The two answers without what is known to differ from this version. */
export function reconciled(answers: AnswerPair, request: Request, minor: number): AnswerPair {
  return knownDifferences
    .filter(({ minors }) => minors === undefined || minors.includes(minor))
    .reduce((pair, { reconcile }) => reconcile?.(pair, request) ?? pair, answers);
}

const before36 = [31, 32, 33];

export const knownDifferences: readonly KnownDifference[] = [
  {
    title: 'What is shown of a patch that leads nowhere',
    reason:
      'A patch that leads to an object which cannot be decoded is answered with that object, its fields in an order that follows from which of them the patch touched; a strategic merge patch with itself, without what a real server has used up already.',
    reconcile: onBoth(
      texts((text) =>
        text.replace(/((?:^| )Invalid value: )"(?:\{.*\}|map\[.*\])(?:\\n|\n)?": /s, '$1SHOWN: '),
      ),
    ),
  },
  {
    title: 'The order of the conflicts of an apply',
    reason: 'A real server takes them from a map, in any order.',
    reconcile: onBoth((answer) =>
      isFailure(answer, 409) ? sorted(texts(sortedLines(/^Apply failed with/))(answer)) : answer,
    ),
  },
  {
    title: 'The order of what is wrong with the types of an apply',
    reason: 'A real server takes the fields from a map, in any order.',
    reconcile: onBoth((answer) =>
      isFailure(answer, 500)
        ? texts(sortedLines(/^failed to create typed patch object .*: errors:/))(answer)
        : answer,
    ),
  },
  {
    title: 'The descriptions of the columns of a table',
    reason: 'They are documentation, and the embedded server has its own words.',
    reconcile: onBoth((answer) => ({ ...answer, body: withoutDescriptions(answer.body) })),
  },
  ...customResourceDifferences,
  {
    title: 'The words for what is wrong with YAML',
    reason: 'They are those of the library that reads it.',
    reconcile: onBoth(texts((text) => text.replace(/yaml: (line \d+: )?.*$/s, 'yaml: PROBLEM'))),
  },
  {
    title: 'Answers in protobuf',
    reason:
      'The embedded server reads protobuf, in which typed clients of client-go 0.32 and later write, and answers in JSON, which they accept as well.',
  },
  {
    title: 'Text after a YAML document',
    reason:
      'A real server reads the first document of a body and no further. The embedded one refuses such a body, so that the two differ from then on.',
  },
  {
    title: 'The words for a time in an apply that is none',
    reason:
      'A real server finds out some steps later where the object has managers of several versions, or this one has applied before.',
    reconcile: onBoth(
      texts((text) =>
        text.replace(/^failed to .*?: (?=unable to convert unstructured object)/, 'failed to convert: '),
      ),
    ),
  },
  {
    title: 'metadata.selfLink in an answer',
    reason:
      'A real server forgets the field when it stores an object, and shows it where nothing is stored: in a dry run, or when the last finalizer goes. The embedded one never shows it.',
    reconcile: ({ real, embedded }, { options }) => ({
      real: JSON.stringify(options.body ?? '').includes('"selfLink":"/x"')
        ? { ...real, body: withoutSelfLink(real.body) }
        : real,
      embedded,
    }),
  },
  {
    title: 'Values within error messages',
    reason: 'Since 1.34, lists, times and objects are shown as JSON; before, as Go would show them.',
    minors: before36,
    reconcile: onReal(
      texts((text) =>
        text
          .replaceAll(
            /\[\]string\{([^}]*)\}(?=: (?:supported|finalizer))/g,
            (_, list: string) => `[${list.replaceAll(', ', ',')}]`,
          )
          .replaceAll('Invalid value: 0x0: must be specified', 'Invalid value: 0: must be specified')
          .replaceAll(
            /Invalid value: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) \+0000 UTC: /g,
            'Invalid value: "$1T$2Z": ',
          )
          .replaceAll('Invalid value: NOW: ', 'Invalid value: "NOW": ')
          .replaceAll(
            /Invalid value: v1\.OwnerReference\{(.*?)\}: /g,
            (_, fields: string) => `Invalid value: ${ownerAsJson(fields)}: `,
          ),
      ),
    ),
  },
  {
    title: 'The wording of error messages',
    reason: 'It changed between the versions; the facts did not.',
    minors: before36,
    reconcile: onReal(
      texts((text) =>
        text
          .replaceAll('a qualified name must consist of', 'a valid label key must consist of')
          .replaceAll('must have at most 128 bytes', 'may not be more than 128 bytes')
          .replaceAll(/: (kind|name|uid) must not be empty/g, ': must not be empty'),
      ),
    ),
  },
  {
    title: 'Warnings of deprecated versions',
    reason:
      'Since 1.35 and 1.36, v1alpha2 and v1beta1 of LeaseCandidate are deprecated, which every answer says.',
    minors: before36,
    reconcile: ({ real, embedded }) => ({
      real,
      embedded: {
        ...embedded,
        warnings: embedded.warnings.filter(
          (text) => !/ LeaseCandidate is deprecated in v1\.3[56]\+/.test(text),
        ),
      },
    }),
  },
  {
    title: 'A deletion with a body that cannot be read',
    reason: 'Up to 1.33 it is answered as an internal error.',
    minors: before36,
    reconcile: ({ real, embedded }, { method }) => ({
      real: method === 'DELETE' && isFailure(real, 500) ? asBadRequest(real) : real,
      embedded,
    }),
  },
  {
    title: 'A patch of no known type and without a body',
    reason: 'Up to 1.33 it is answered as if the client had accepted nothing.',
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
    title: 'A JSON patch that goes through null',
    reason: 'Up to 1.33 a real server panics, and cuts the connection.',
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
    title: 'A list of a resourceVersion that is none',
    reason: 'Up to 1.32 it is answered as an internal error.',
    minors: [31, 32],
    reconcile: ({ real, embedded }, { path }) => ({
      real:
        /\/lease(candidate)?s\?.*resourceVersion=x/.test(path) && isFailure(real, 500)
          ? texts((text) =>
              text.replace(/^(?=resourceVersion: Invalid value)/, 'invalid resource version: '),
            )(asBadRequest(real))
          : real,
      embedded,
    }),
  },
];

/** The lines of a text that begins like this, in an order of our own. */
function sortedLines(beginning: RegExp): (text: string) => string {
  return (text) => (beginning.test(text) ? text.split('\n').sort().join('\n') : text);
}

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

/** Of `APIVersion:"v1", Kind:"Event", ..., Controller:(*bool)(nil)`. */
function ownerAsJson(fields: string): string {
  const texts = [...fields.matchAll(/(\w+):("(?:[^"\\]|\\.)*")/g)].map(([, name = '', value = '']) => {
    const field = name === 'APIVersion' ? 'apiVersion' : name.toLowerCase();
    return `"${field}":${value}`;
  });
  return `{${texts.join(',')}}`;
}
