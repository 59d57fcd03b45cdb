import fc from 'fast-check';
import { expect } from 'vitest';
import { decodeLease } from '../../src/coordination/lease.ts';
import { decodeLeaseCandidate } from '../../src/coordination/lease-candidate.ts';
import { formatMicroTime, parseMicroTime } from '../../src/coordination/micro-time.ts';
import { parseVersion } from '../../src/election/strategies.ts';
import { ApiError, apiErrorFromResponse, ConnectionError } from '../../src/kubernetes/errors.ts';
import { LineSplitter, parseWatchEvent } from '../../src/kubernetes/list-watch.ts';
import { isKubernetesObject } from '../../src/kubernetes/objects.ts';
import { bounded, printable } from '../../src/support/text.ts';
import { type FuzzTarget, pureTarget } from './fuzz-target.ts';
import { wildCandidate, wildJson, wildLease, wildText, wildTime, wildVersion } from './wild-values.ts';

/** The message for people: one line of bounded length without harmful characters. */
function checkReport(error: unknown): void {
  expect(error instanceof ApiError || error instanceof ConnectionError).toBe(true);
  const { message } = error as Error;
  expect(message.length).toBeLessThan(2000);
  expect(printable(String(bounded(message)))).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
}

const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

export const decoderTargets: readonly FuzzTarget[] = [
  pureTarget(
    'decodeLease',
    400,
    fc.property(wildLease, (object) => {
      if (!isKubernetesObject(object)) return;
      const lease = decodeLease(object);
      expect(decodeLease(structuredClone(object))).toEqual(lease);
      for (const time of [lease.renewTime, lease.acquireTime]) {
        if (time !== undefined) expect(formatMicroTime(time)).toMatch(MICRO_TIME);
      }
    }),
  ),
  pureTarget(
    'decodeLeaseCandidate',
    400,
    fc.property(wildCandidate, (object) => {
      if (!isKubernetesObject(object)) return;
      const candidate = decodeLeaseCandidate(object);
      expect(decodeLeaseCandidate(structuredClone(object))).toEqual(candidate);
    }),
  ),
  pureTarget(
    'parseMicroTime',
    1000,
    fc.property(wildTime, (text) => {
      const time = parseMicroTime(text);
      if (time === undefined) return;
      const written = formatMicroTime(time);
      expect(written).toMatch(MICRO_TIME);
      expect(formatMicroTime(parseMicroTime(written) ?? 0n)).toBe(written);
      // A ping is any time after this one.
      expect(formatMicroTime(time + 1n)).toMatch(MICRO_TIME);
    }),
  ),
  pureTarget(
    'parseVersion',
    1000,
    fc.property(wildVersion, wildVersion, (one, other) => {
      const [a, b] = [parseVersion(one), parseVersion(other)];
      expect(parseVersion(one)?.version).toBe(a?.version);
      if (a && b) expect(a.compare(b) + b.compare(a)).toBe(0);
    }),
  ),
  pureTarget(
    'parseWatchEvent',
    400,
    fc.property(
      fc.oneof(
        wildText,
        fc
          .record({
            type: fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR', 'x', 1),
            object: fc.oneof(wildLease, wildJson),
          })
          .map((event) => JSON.stringify(event)),
        wildJson.map((value) => JSON.stringify(value)),
      ),
      (line) => {
        try {
          expect(parseWatchEvent(line, '/apis/x')).toHaveProperty('type');
        } catch (error) {
          checkReport(error);
        }
      },
    ),
  ),
  pureTarget(
    'LineSplitter',
    300,
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(200), { maxLength: 5 }), (bytes, cuts) => {
      const lines = (parts: readonly Uint8Array[]) => {
        const splitter = new LineSplitter(1000);
        return parts.flatMap((part) => splitter.push(part));
      };
      const places = [
        0,
        ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
        bytes.length,
      ];
      const parts = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      expect(lines(parts)).toEqual(lines([bytes]));
    }),
  ),
  pureTarget(
    'apiErrorFromResponse',
    400,
    fc.property(
      fc.integer({ min: 100, max: 599 }),
      fc.option(wildText, { nil: undefined }),
      fc.oneof(
        wildText,
        wildJson.map((value) => JSON.stringify(value)),
        fc
          .record({
            message: wildText,
            reason: wildText,
            code: wildJson,
            details: fc.oneof(wildJson, fc.record({ retryAfterSeconds: wildJson })),
          })
          .map((status) => JSON.stringify(status)),
      ),
      (status, retryAfter, body) => {
        const error = apiErrorFromResponse({ method: 'GET', path: '/x' }, status, retryAfter, body);
        expect(error.status).toBe(status);
        expect(error.retryAfterMs ?? 1).toBeGreaterThan(0);
        checkReport(error);
      },
    ),
  ),
];
