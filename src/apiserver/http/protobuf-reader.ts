/** One field of a message: a number for what is a varint, else its bytes. */
export interface WireField {
  readonly number: number;
  readonly value: number | Buffer;
}

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

/**
 * The fields of a protobuf message, in the order in which they were written. Varints are read as signed.
 * @throws {RangeError} when they end too early, or are not of a kind that there is
 */
export function* readFields(message: Buffer): Generator<WireField> {
  let offset = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[offset];
      if (byte === undefined) throw new RangeError('unexpected EOF');
      offset += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('proto: integer overflow');
  };
  const bytes = (length: number): Buffer => {
    const end = offset + length;
    if (end > message.length) throw new RangeError('unexpected EOF');
    const read = message.subarray(offset, end);
    offset = end;
    return read;
  };
  while (offset < message.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        yield { number, value: Number(BigInt.asIntN(64, varint())) };
        break;
      case BYTES:
        yield { number, value: bytes(Number(varint())) };
        break;
      case FIXED_64:
        yield { number, value: bytes(8) };
        break;
      case FIXED_32:
        yield { number, value: bytes(4) };
        break;
      default:
        throw new RangeError(`proto: illegal wireType ${tag % 8}`);
    }
  }
}
