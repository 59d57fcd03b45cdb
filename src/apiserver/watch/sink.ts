/** Where a stream is written to. It never holds more than a socket's buffer and what `write` was just given. */
export interface StreamSink {
  /** False when the client is slow: then write again only after `onDrain`'s callback was called. */
  write(chunk: Buffer): boolean;
  /** Ends the answer in good order. */
  end(): void;
  /** Cuts the connection. */
  destroy(): void;
  /** Calls back each time that there is room again. */
  onDrain(callback: () => void): void;
  /** Calls back once, when the client or the server has ended the stream, for whatever reason. */
  onClose(callback: () => void): void;
}
