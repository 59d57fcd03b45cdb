import { ApiError, forbiddenRequest } from '../errors/api-error.ts';
import type { Attributes } from './access-rule.ts';
import type { User } from './user.ts';

/** 401: a token that nobody has. */
export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

/** 403: what this user may not do. */
export function forbidden({ name: user }: User, wanted: Attributes): ApiError {
  const who = `User ${quoted(user)} cannot ${wanted.verb}`;
  if (wanted.kind === 'path') {
    const message = `forbidden: ${withoutMarkup(`${who} path ${quoted(wanted.path)}`)}`;
    return new ApiError(403, 'Forbidden', message, {});
  }
  const { group, resource, subresource, namespace, name = '' } = wanted;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${quoted(namespace)}`;
  const problem = `${who} resource ${quoted(what)} in API group ${quoted(group)} ${where}`;
  return forbiddenRequest({ group, name: resource }, name, withoutMarkup(problem));
}

/** 403: a request in the name of another user. `header` asks for that. */
export function impersonationRefused(header: string): ApiError {
  const problem = `this server does not support impersonation: send the request without the header ${quoted(header)}`;
  return new ApiError(403, 'Forbidden', `forbidden: ${withoutMarkup(problem)}`, {});
}

/** What is quoted comes from the client, and may be shown by a browser. */
function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
