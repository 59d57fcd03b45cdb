import { constants, deflateRawSync } from 'node:zlib';

/** How the messages of a stream are put on the wire. */
export interface StreamEncoding {
  /** The Content-Encoding header; undefined for none. */
  readonly name: 'gzip' | undefined;
  /** Goes before the first message. */
  readonly head: Buffer;
  encode(text: string): Buffer;
}

/** Quick rather than small: names and versions repeat so much that more effort gains little. */
const LEVEL = 3;
/** RFC 1952: the magic number, deflate, no flags, no time, no extra flags, an unknown system. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

const plain: StreamEncoding = { name: undefined, head: Buffer.alloc(0), encode: (text) => Buffer.from(text) };

/**
 * Each message is a piece of deflate that refers to nothing before it and ends on a byte, so that the same piece goes to
 * everybody who reads, wherever they began, and costs its compression once.
 */
const gzip: StreamEncoding = {
  name: 'gzip',
  head: GZIP_HEAD,
  encode: (text) => deflateRawSync(text, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH }),
};

/** What a request's Accept-Encoding allows. */
export function streamEncodingFor(acceptEncoding: string | undefined): StreamEncoding {
  return acceptsGzip(acceptEncoding) ? gzip : plain;
}

/** Whether an Accept-Encoding header names gzip, and not to refuse it. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some((each) => {
    const [coding = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
