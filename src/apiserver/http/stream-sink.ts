import type { ServerResponse } from 'node:http';
import type { StreamSink } from '../watch/sink.ts';

/** The sink of a stream whose head has been sent. */
export function streamSink(response: ServerResponse): StreamSink {
  return {
    // A server that closes ends its streams, and whoever writes to one learns of it only a moment later.
    write: (chunk) => !response.writableEnded && response.write(chunk),
    end: () => {
      response.end();
    },
    destroy: () => {
      response.destroy();
    },
    onDrain: (callback) => {
      response.on('drain', callback);
    },
    onClose: (callback) => {
      // It may have happened before anybody asked.
      if (response.closed) callback();
      else response.once('close', callback);
    },
  };
}
