import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeContinue, encodeContinue } from '../../../src/apiserver/operations/read.ts';

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const key = fc.stringMatching(/^[a-z0-9][a-z0-9.-]*$/);

describe('a continue token', () => {
  test('says after it was read what it said when it was written', () => {
    const revision = fc.option(fc.integer({ min: 1 }), { nil: undefined });
    fc.assert(
      fc.property(revision, key, key, (at, namespace, name) => {
        const token = { revision: at, startKey: `${namespace}/${name}\0` };
        expect(decodeContinue(encodeContinue(token))).toEqual(token);
      }),
    );
  });

  test.each([
    { name: 'no base64', token: 'not a token' },
    { name: 'no JSON', token: 'bm8gdG9rZW4' },
    { name: 'another version', token: encoded({ v: 'v2', rv: 1, start: 'a' }) },
    { name: 'no revision', token: encoded({ v: 'meta.k8s.io/v1', start: 'a' }) },
    { name: 'revision 0', token: encoded({ v: 'meta.k8s.io/v1', rv: 0, start: 'a' }) },
    { name: 'no start', token: encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '' }) },
    { name: 'a way out', token: encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets' }) },
  ])('is refused with $name', ({ token }) => {
    expect(() => decodeContinue(token)).toThrow('the continue token is not valid');
  });
});
