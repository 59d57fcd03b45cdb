import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Clock } from '../../support/clock.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { ExchangeResult, Incoming } from './exchange.ts';
import type { Connections } from './malformed-requests.ts';
import { readBody } from './read-body.ts';
import { streamSink } from './stream-sink.ts';
import { refuseBody, writeAnswer, writeChunks, writeStreamHead } from './write-answer.ts';

/** One request, answered. */
export interface RequestLine {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly code: number;
  /** Until the end of the answer: for a stream, all that it lasted. */
  readonly durationMs: number;
  /** Absent for somebody whose token nobody has. */
  readonly user?: string;
}

export interface ListenerParts {
  readonly dispatch: Dispatcher;
  readonly clock: Clock;
  readonly connections: Connections;
  /** Holds the streams that have not ended. */
  readonly streams: Set<ServerResponse>;
  /** Whether connections are not to be used again after their answers. */
  readonly isClosing: () => boolean;
  readonly onRequest: ((line: RequestLine) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** How long a client may take to read a long answer, whose objects are kept for it meanwhile. A real server: as long. */
const LONGEST_ANSWER_MS = 60_000;

/** Takes requests from node:http to the dispatcher, and what comes of them back. */
export function createListener(parts: ListenerParts): RequestListener {
  const { dispatch, clock, connections, onRequest, onError } = parts;
  return (request, response) => {
    connections.note(request, response);
    keepBodyWhilePaused(request);
    const startedAt = clock.now();
    let user: string | undefined;
    if (onRequest) {
      response.once('close', () => {
        // Without a head the client left before it was answered.
        if (!response.headersSent) return;
        const { method = '', url = '' } = request;
        onRequest({
          method,
          path: url.split('?', 1)[0] ?? '',
          code: response.statusCode,
          durationMs: clock.now() - startedAt,
          ...(user !== undefined && { user }),
        });
      });
    }
    const write = (result: ExchangeResult): void => {
      try {
        writeResult(result, request, response, parts);
      } catch (error) {
        onError(error);
        response.destroy();
      }
    };
    const result = dispatch(incomingOf(request), (name) => {
      user = name;
    });
    if (result instanceof Promise) result.then(write, onError);
    else write(result);
  };
}

/**
 * Node pauses a connection on which a request comes in while the answer before it is being sent. Over TLS its parser is given
 * the rest of the body all the same, takes that for malformed, and the connection is cut. With a listener for data, Node reads
 * the connection as a stream, which keeps the rest until it goes on.
 */
function keepBodyWhilePaused({ socket }: IncomingMessage): void {
  if (socket.isPaused() && !socket.listeners('data').includes(ignoreData)) socket.on('data', ignoreData);
}

const ignoreData = (): void => {};

function incomingOf(request: IncomingMessage): Incoming {
  const { method = '', url = '', headers } = request;
  return {
    method,
    url,
    header(name) {
      const value = headers[name] ?? '';
      return typeof value === 'string' ? value : value.join(',');
    },
    headerNames: () => Object.keys(headers),
    readBody: () => readBody(request),
  };
}

function writeResult(
  result: ExchangeResult,
  request: IncomingMessage,
  response: ServerResponse,
  { clock, streams, isClosing, onError }: ListenerParts,
): void {
  if (result.kind === 'gone' || response.destroyed) return;
  const head = { isLast: isClosing(), wallTime: clock.wallTime() };
  if (result.kind === 'answer') {
    if (result.answer.code === 413) refuseBody(request, response, result.answer, head, clock);
    else writeAnswer(request, response, result.answer, head);
    return;
  }
  if (result.kind === 'chunks') {
    const cancel = clock.setTimer(() => response.destroy(), LONGEST_ANSWER_MS);
    response.once('close', cancel);
    writeChunks(request, response, result, head, onError);
    return;
  }
  writeStreamHead(request, response, result.headers ?? [], head);
  streams.add(response);
  response.once('close', () => streams.delete(response));
  result.reply.start(streamSink(response));
  if (head.isLast) response.end();
}
