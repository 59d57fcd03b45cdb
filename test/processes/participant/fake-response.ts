import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/** The messages to a leading program. */
export interface Told {
  readonly leading: boolean;
  readonly why?: string;
  readonly fencingToken: number;
  readonly validUntilMs: number;
}

/** The data of server-sent events. */
export function toldIn(text: string): readonly Told[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Told);
}

/** The response to a program's request for the lead, without a network. */
export class FakeResponse extends EventEmitter {
  readonly told: Told[] = [];
  status: number | undefined;
  destroyed = false;
  writableLength = 0;
  /** Called for each line. */
  onTold: (told: Told) => void = () => {};

  get asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }

  writeHead(status: number): this {
    this.status = status;
    return this;
  }

  write(text: string): boolean {
    if (this.destroyed) throw new Error('a write to a closed connection');
    for (const told of toldIn(text)) {
      this.told.push(told);
      this.onTold(told);
    }
    return true;
  }

  end(): this {
    this.close();
    return this;
  }

  /** Either side closes the connection. */
  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}
