import type { Steps } from '../../support/event-loop.ts';
import { apiVersionOf, type ResourceDefinition, type VersionDefinition } from '../kinds/definition.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { decodeObject } from '../schema/decode.ts';
import { createEventEncoder } from '../watch/event-encoder.ts';
import { startWatch, type WatchStart } from '../watch/served-watch.ts';
import type { OperationsContext } from './context.ts';
import { asObject } from './object-body.ts';
import { type ListOptions, listOptions } from './parameters.ts';
import type { Representation, ResourceRequest, StreamReply } from './resource-request.ts';
import { parseReadVersion } from './resource-version.ts';
import { selectionOf } from './selection.ts';

/** Without a timeout of the client's own a watch ends after 30 to 60 minutes, so that clients spread over servers. */
const SHORTEST_WATCH_MS = 1_800_000;

/** Watches what the request selects. @throws {ApiError} before anything was sent */
export function* watch({ store, clock }: OperationsContext, request: ResourceRequest): Steps<StreamReply> {
  const { definition, version, representation } = request;
  const options = yield* listOptions(request.query, true);
  const selection = selectionOf(request, options);
  const from = startOf(options, store.revision);
  const timeoutMs = options.timeoutSeconds
    ? options.timeoutSeconds * 1000
    : SHORTEST_WATCH_MS * (1 + clock.random());
  const empty = emptyObject(definition, version);
  const encoderOf = (shown: Representation) =>
    createEventEncoder(
      `${apiVersionOf(definition, version)} ${shown.id}`,
      (object) => shown.show(version.fromHub(object), version),
      empty,
    );
  const encode = encoderOf(representation.following ?? representation);
  return {
    kind: 'stream',
    start: (sink) =>
      startWatch({
        store,
        storage: definition.storage,
        clock,
        sink,
        from,
        selects: (object) => selection.selects(object),
        encode,
        ...(representation.following && { encodeFirst: encoderOf(representation) }),
        bookmarks: options.allowsBookmarks,
        timeoutMs,
      }),
  };
}

function startOf(options: ListOptions, now: number): WatchStart {
  const revision = parseReadVersion(options.resourceVersion);
  if (options.sendInitialEvents) {
    return { kind: 'state', sendBookmark: options.allowsBookmarks, minimum: revision };
  }
  return { kind: 'revision', revision: revision === 0 ? now : revision };
}

/** An object in which nothing is set, in hub form. */
function emptyObject(definition: ResourceDefinition, version: VersionDefinition): ApiObject {
  const { value } = decodeObject(version.schema, {});
  return version.toHub(asObject(value, apiVersionOf(definition, version), definition.kind));
}
