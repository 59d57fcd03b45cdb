import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  checkCertificate,
  generateCertificate,
  needsRenewal,
} from '../../../src/apiserver/access/certificates.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const DAY_MS = 24 * 3_600_000;
const START = Date.UTC(2026, 0, 1);
const clock = new VirtualClock({ wallStartMs: START });
const at = (days: number) => new VirtualClock({ wallStartMs: START + days * DAY_MS });
const generated = await generateCertificate(
  ['10.0.0.7', 'fe80::1:0:2', '::ffff:10.0.0.9', 'coordination.example', '0.0.0.0'],
  clock,
);
const other = await generateCertificate([], clock);

describe('a generated certificate', () => {
  const certificate = new X509Certificate(generated.cert);
  const authority = new X509Certificate(generated.ca);

  test('is signed by its authority, and matches its key', () => {
    expect(certificate.checkIssued(authority)).toBe(true);
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect([authority.ca, certificate.ca]).toEqual([true, false]);
    expect(() => checkCertificate(generated, clock)).not.toThrow();
  });

  test.each(['127.0.0.1', '::1', '10.0.0.7', 'fe80::1:0:2', '::ffff:10.0.0.9'])(
    'is good for the address %s',
    (address) => {
      expect(certificate.checkIP(address)).toBe(address);
    },
  );

  test.each(['localhost', 'coordination.example'])('is good for the host %s', (host) => {
    expect(certificate.checkHost(host)).toBe(host);
  });

  test.each(['10.0.0.8', '0.0.0.0'])('is not good for the address %s', (address) => {
    expect(certificate.checkIP(address)).toBeUndefined();
  });

  test('uses an elliptic curve, and is only for servers', () => {
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  test('is valid for a year, and for slow clocks', () => {
    expect(certificate.validFromDate).toEqual(new Date(START - 3_600_000));
    expect(certificate.validToDate).toEqual(new Date(START + 365 * DAY_MS));
  });

  test('is unique', () => {
    expect(new X509Certificate(other.cert).serialNumber).not.toBe(certificate.serialNumber);
    expect(certificate.verify(new X509Certificate(other.ca).publicKey)).toBe(false);
  });

  test.each([
    { hosts: ['10.0.0.7', 'coordination.example'], days: 0, want: false },
    { hosts: [], days: 334, want: false },
    { hosts: [], days: 336, want: true },
    { hosts: ['10.0.0.8'], days: 0, want: true },
    { hosts: ['elsewhere.example'], days: 0, want: true },
    { hosts: ['::'], days: 0, want: false },
  ])('must be renewed for $hosts after $days days: $want', ({ hosts, days, want }) => {
    expect(needsRenewal(generated, hosts, at(days))).toBe(want);
  });

  test.each([
    { interrupted: 'the CA', stored: { ...generated, ca: other.ca } },
    { interrupted: 'the CA and the key', stored: { ...generated, ca: other.ca, key: other.key } },
    { interrupted: 'the key', stored: { ...generated, key: other.key } },
  ])('must be renewed if a renewal wrote only $interrupted', ({ stored }) => {
    expect(needsRenewal(stored, [], at(0))).toBe(true);
  });
});

describe('a given certificate', () => {
  const { cert, key } = generated;
  const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n';

  test.each([
    { given: { cert: 'x', key }, days: 0, want: 'the certificate cannot be read: it has to be X.509 in PEM' },
    { given: { cert, key: 'x' }, days: 0, want: 'the key cannot be read: it has to be a private key in PEM' },
    {
      given: { cert, key: cert },
      days: 0,
      want: 'the key cannot be read: it has to be a private key in PEM',
    },
    { given: { cert, key: encrypted }, days: 0, want: 'the key cannot be read: it is encrypted' },
    { given: { cert, key: other.key }, days: 0, want: 'the key does not belong to the certificate' },
    { given: { cert, key }, days: 366, want: 'the certificate ended on 2027-01-01T00:00:00.000Z' },
    {
      given: { cert, key },
      days: -1,
      want: 'the certificate does not begin before 2025-12-31T23:00:00.000Z',
    },
  ])('is refused: $want', ({ given, days, want }) => {
    expect(() => checkCertificate(given, at(days))).toThrow(want);
  });
});
