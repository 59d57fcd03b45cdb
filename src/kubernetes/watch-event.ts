import { isJsonObject } from '../support/json.ts';
import { ApiError, apiErrorFromStatus, ConnectionError } from './errors.ts';
import { isKubernetesObject, type KubernetesObject } from './objects.ts';

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubernetesObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/**
 * Reads one line of a watch on `path`. Throws the {@link ApiError} that an ERROR event carries, and a
 * {@link ConnectionError} (`MALFORMED_ANSWER`) for what is no event at all.
 */
export function parseWatchEvent(line: string, path: string): WatchEvent {
  const event = parse(line, path);
  const { type, object } = isJsonObject(event) ? (event as { type?: unknown; object?: unknown }) : {};
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (!isKubernetesObject(object)) throw malformed(path, line);
      return { type, object };
    case 'BOOKMARK':
      return { type, resourceVersion: bookmarkOf(object, () => malformed(path, line)) };
    case 'ERROR':
      throw isJsonObject(object)
        ? apiErrorFromStatus({ method: 'GET', path }, object)
        : new ApiError({ method: 'GET', path, status: 500, message: 'the watch failed without explanation' });
    default:
      throw malformed(path, line);
  }
}

/** A bookmark has no name, so that it is no object in the sense of the others. */
function bookmarkOf(object: unknown, failure: () => Error): string {
  const metadata = isJsonObject(object) ? object['metadata'] : undefined;
  const resourceVersion = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') throw failure();
  return resourceVersion;
}

function parse(line: string, path: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw malformed(path, line, { cause: error });
  }
}

function malformed(path: string, line: string, options?: ErrorOptions): ConnectionError {
  return new ConnectionError(`GET ${path}: not a watch event: ${line.slice(0, 200)}`, {
    code: 'MALFORMED_ANSWER',
    ...options,
  });
}
