import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { streamSink } from '../../../src/apiserver/http/write-answer.ts';

test('a stream that the server has ended accepts no more data, and does not fail', async () => {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    response.writeHead(200).flushHeaders();
    answered.resolve(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  get({ host: '127.0.0.1', port }, (answer) => answer.resume());
  const response = await answered.promise;
  const errors: unknown[] = [];
  response.on('error', (error) => errors.push(error));
  const sink = streamSink(response);
  expect(sink.write(Buffer.from('before\n'))).toBe(true);
  response.end();
  expect(sink.write(Buffer.from('after\n'))).toBe(false);
  server.close();
  await once(server, 'close');
  expect(errors).toEqual([]);
});
