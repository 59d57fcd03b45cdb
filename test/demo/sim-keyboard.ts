import { PassThrough } from 'node:stream';

/** A keyboard: a stream with a raw mode. */
export class SimKeyboard extends PassThrough {
  isRaw = false;

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }
}
