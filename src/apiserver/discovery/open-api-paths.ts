import type { JsonObject } from '../../support/json.ts';
import {
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  prettyParameter,
  writeParameters,
} from './open-api-parameters.ts';
import { reference } from './open-api-schemas.ts';

/** A resource in one version, as far as its paths go. */
export interface PathSubject {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly isCustom?: true;
  /** The model of its objects. */
  readonly model: string;
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const ANSWERS = ['application/json', 'application/yaml'];
const STREAMS = [...ANSWERS, 'application/json;stream=watch'];
const CUSTOM_PATCHES = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
];
const PATCHES = [...CUSTOM_PATCHES, 'application/strategic-merge-patch+json'];

/** The paths of a resource; those of Kubernetes itself have outdated ones for watches, too. */
export function openApiPaths(subject: PathSubject): JsonObject {
  const { group, version, resource, kind, isNamespaced, isCustom } = subject;
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = isNamespaced ? '/namespaces/{namespace}' : '';
  const scope = isNamespaced ? 'Namespaced' : '';
  const { operation, list, watch } = operationsOf(subject);
  const inPlace = isNamespaced ? [namespaceParameter] : [];
  const all = `${base}${place}/${resource}`;
  const watched = `${base}/watch${place}/${resource}`;
  const watches = {
    ...(isNamespaced && {
      [`${base}/watch/${resource}`]: {
        get: watch(`${kind}ListForAllNamespaces`, 'watchlist'),
        parameters: [...listParameters, prettyParameter],
      },
    }),
    [watched]: {
      get: watch(`${scope}${kind}List`, 'watchlist'),
      parameters: [...listParameters, ...inPlace, prettyParameter],
    },
    [`${watched}/{name}`]: {
      get: watch(`${scope}${kind}`, 'watch'),
      parameters: [...listParameters, nameParameter, ...inPlace, prettyParameter],
    },
  };
  return {
    ...(isNamespaced && {
      [`${base}/${resource}`]: {
        get: list(`${kind}ForAllNamespaces`),
        parameters: [...listParameters, prettyParameter],
      },
    }),
    [all]: {
      get: { ...list(`${scope}${kind}`), parameters: listParameters },
      post: operation('create', 'post', `${scope}${kind}`, {
        body: subject.model,
        parameters: writeParameters,
        codes: [200, 201, 202],
      }),
      ...(isNamespaced && {
        delete: operation('delete', 'deletecollection', `Collection${scope}${kind}`, {
          body: `${META}.DeleteOptions`,
          answer: `${META}.Status`,
          parameters: deleteCollectionParameters,
        }),
      }),
      parameters: [...inPlace, prettyParameter],
    },
    [`${all}/{name}`]: {
      get: operation('read', 'get', `${scope}${kind}`, {}),
      put: operation('replace', 'put', `${scope}${kind}`, {
        body: subject.model,
        parameters: writeParameters,
        codes: [200, 201],
      }),
      delete: operation('delete', 'delete', `${scope}${kind}`, {
        body: `${META}.DeleteOptions`,
        answer: `${META}.Status`,
        parameters: deleteParameters,
        codes: [200, 202],
      }),
      patch: operation('patch', 'patch', `${scope}${kind}`, {
        body: `${META}.Patch`,
        bodyTypes: isCustom ? CUSTOM_PATCHES : PATCHES,
        parameters: patchParameters,
        codes: [200, 201],
      }),
      parameters: [nameParameter, ...inPlace, prettyParameter],
    },
    ...(isCustom ? {} : watches),
  };
}

/** The path of a review, which can only be created. */
export function reviewPaths(subject: PathSubject): JsonObject {
  const { group, version, resource, kind } = subject;
  const { operation } = operationsOf(subject);
  return {
    [`/apis/${group}/${version}/${resource}`]: {
      post: operation('create', 'post', kind, { body: subject.model, codes: [200, 201, 202] }),
      parameters: [...writeParameters, prettyParameter],
    },
  };
}

interface OperationParts {
  /** The model of what is sent. */
  readonly body?: string;
  readonly bodyTypes?: readonly string[];
  /** The model of what comes back: an object of the resource, unless told otherwise. */
  readonly answer?: string;
  readonly answerTypes?: readonly string[];
  readonly parameters?: readonly JsonObject[];
  readonly codes?: readonly number[];
}

/** What a group is called in names of operations. */
function groupNameOf({ group, isCustom }: PathSubject): string {
  if (isCustom) return group.replace(/[-.](.)/g, (_, letter: string) => letter.toUpperCase());
  return group === '' ? 'core' : (group.split('.')[0] ?? '');
}

function operationsOf(subject: PathSubject) {
  const { group, version, kind, model } = subject;
  const groupName = groupNameOf(subject);
  const tag = `${groupName}_${version}`;
  const prefix = `${capitalized(groupName)}${capitalized(version)}`;
  const operation = (verb: string, action: string, target: string, parts: OperationParts): JsonObject => {
    const {
      body,
      bodyTypes = ['*/*'],
      answer = model,
      answerTypes = ANSWERS,
      parameters,
      codes = [200],
    } = parts;
    const answers = codes.map((code) => [
      code,
      { description: 'Done.', content: content(answer, answerTypes) },
    ]);
    return {
      tags: [tag],
      description: `${verb} ${kind}`,
      operationId: `${verb}${prefix}${target}`,
      ...(parameters && { parameters }),
      ...(body && {
        requestBody: {
          content: content(body, bodyTypes),
          // Deletions may do without.
          ...(action.startsWith('delete') ? {} : { required: true }),
        },
      }),
      responses: { ...Object.fromEntries(answers), 401: { description: 'Unauthorized' } },
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group, version, kind },
    };
  };
  return {
    operation,
    list: (target: string) =>
      operation('list', 'list', target, { answer: `${model}List`, answerTypes: STREAMS }),
    watch: (target: string, action: string) =>
      operation('watch', action, target, { answer: `${META}.WatchEvent`, answerTypes: STREAMS }),
  };
}

function content(model: string, types: readonly string[]): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema: reference(model) }]));
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
