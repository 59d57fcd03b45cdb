import nock from 'nock';
import { afterEach, describe, expect, test } from 'vitest';
import { apiRequestInTurn } from './api-request.ts';

const access = { url: 'https://api.example', ca: '', token: 'secret' };
const loading = { kind: 'Status', code: 429, message: 'storage is (re)initializing' };

afterEach(() => nock.cleanAll());

describe('a request in turn', () => {
  test('is asked again when the server says when to come back', async () => {
    nock(access.url).get('/apis').twice().reply(429, loading, { 'retry-after': '0' });
    nock(access.url).get('/apis').reply(200, { items: [] });
    expect(await apiRequestInTurn(access, 'GET', '/apis')).toMatchObject({
      status: 200,
      text: '{"items":[]}',
    });
  });

  test('has the answer 429 of a server that does not say when', async () => {
    nock(access.url).get('/apis').reply(429, loading);
    expect(await apiRequestInTurn(access, 'GET', '/apis')).toMatchObject({ status: 429 });
  });

  test('gives up on a server that never has it', async () => {
    nock(access.url).get('/apis').times(11).reply(429, loading, { 'retry-after': '0' });
    expect(await apiRequestInTurn(access, 'GET', '/apis')).toMatchObject({ status: 429 });
    expect(nock.isDone()).toBe(true);
  });
});
