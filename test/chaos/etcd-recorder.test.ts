import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EtcdRecorder, type StoredWrite, writesName } from './etcd-recorder.ts';

const KEY = '/registry/leases/default/slow';

/** As etcd's gateway tells of a change; without `holder`, that the Lease was deleted. */
function change(revision: number, holder?: string): string {
  const object = {
    metadata: { uid: 'u', name: 'slow', namespace: 'default', managedFields: [] },
    spec: { holder },
  };
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const kv = { key: base64(KEY), mod_revision: String(revision) };
  const event =
    holder === undefined ? { type: 'DELETE', kv } : { kv: { ...kv, value: base64(JSON.stringify(object)) } };
  return JSON.stringify({ result: { events: [event] } });
}

describe('the recorder of etcd', () => {
  let directory: string;
  let server: Server;
  let recorder: EtcdRecorder;
  /** Of each watch, where it starts, and how to answer it. */
  let watches: { readonly from: number; readonly response: ServerResponse }[];
  let problems: string[];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'etcd-recorder-'));
    watches = [];
    problems = [];
    server = createServer((request, response) => {
      void json(request).then((body) => {
        const { create_request } = body as { readonly create_request: { readonly start_revision: number } };
        watches.push({ from: create_request.start_revision, response });
        response.flushHeaders();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    recorder = new EtcdRecorder(url, directory, (problem) => problems.push(problem));
  });
  afterEach(async () => {
    await recorder.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true });
  });

  const watchCount = (count: number) => expect.poll(() => watches.length).toBe(count);

  async function recorded(): Promise<readonly unknown[]> {
    const lines = (await readFile(join(directory, writesName), 'utf8')).trim().split('\n');
    return lines
      .map((line) => JSON.parse(line) as StoredWrite)
      .map(({ revision, object }) => [revision, object?.spec['holder']]);
  }

  test('records every change, and goes on where it was when etcd has been away', async () => {
    await watchCount(1);
    // A line may come in two pieces.
    const line = change(5, 'a');
    watches[0]?.response.write(line.slice(0, 20));
    watches[0]?.response.end(`${line.slice(20)}\n${change(7, 'b')}\n`);
    await watchCount(2);
    expect(watches[1]?.from).toBe(8);
    watches[1]?.response.write(`${change(9)}\n`);
    await expect.poll(() => recorder.revision).toBe(9);
    expect(await recorded()).toEqual([
      [5, 'a'],
      [7, 'b'],
      [9, undefined],
    ]);
    expect(recorder.lease('default/slow')).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test('says so when etcd has forgotten what it had not told yet', async () => {
    await watchCount(1);
    watches[0]?.response.end(`${change(5, 'a')}\n`);
    await watchCount(2);
    watches[1]?.response.end(`${JSON.stringify({ result: { canceled: true, compact_revision: '20' } })}\n`);
    await watchCount(3);
    expect(problems).toEqual(['writes between revisions 5 and 20 were not recorded']);
    expect(watches[2]?.from).toBe(20);
  });
});
