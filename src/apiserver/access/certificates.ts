import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Clock } from '../../support/clock.ts';
import { issueCertificate, newKeys, type SubjectName, type Validity } from './issue-certificate.ts';

/** What a server shows its clients. All of it is PEM. */
export interface ServingCertificate {
  /** The certificate, and below it those that vouch for it, if there are any. */
  readonly cert: string;
  readonly key: string;
}

/** A serving certificate, and what clients have to trust for its sake. */
export interface GeneratedCertificate extends ServingCertificate {
  readonly ca: string;
}

const DAY_MS = 24 * 3_600_000;
const LIFE_MS = 365 * DAY_MS;
const RENEWAL_MS = 30 * DAY_MS;
/** Machines whose clocks are slow should be able to use it at once. */
const BACKDATED_MS = 3_600_000;
const AUTHORITY = 'coordination-api-server-ca';
const SERVER = 'coordination-api-server';
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
/**
 * Generates an authority and a certificate of it for this machine's own names and `hosts`, good for a year. The
 * authority's key is forgotten: it vouches for nothing else.
 */
export async function generateCertificate(
  hosts: readonly string[],
  clock: Clock,
): Promise<GeneratedCertificate> {
  const wallMs = Number(clock.wallTime() / 1000n);
  const validity: Validity = {
    notBefore: new Date(wallMs - BACKDATED_MS),
    notAfter: new Date(wallMs + LIFE_MS),
  };
  const [authorityKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const issuer = { name: AUTHORITY, key: authorityKeys.privateKey };
  const [ca, cert] = await Promise.all([
    issueCertificate({ subject: AUTHORITY, publicKey: authorityKeys.publicKey, issuer, validity }),
    issueCertificate({
      subject: SERVER,
      publicKey: keys.publicKey,
      issuer,
      validity,
      names: namesFor(hosts),
    }),
  ]);
  const key = createPrivateKey({
    key: Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)),
    format: 'der',
    type: 'pkcs8',
  });
  return { ca, cert, key: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** Whether a generated certificate that was kept should be replaced: it ends soon, or does not cover one of `hosts`. */
export function needsRenewal({ cert }: ServingCertificate, hosts: readonly string[], clock: Clock): boolean {
  const certificate = readCertificate(cert);
  const wallMs = Number(clock.wallTime() / 1000n);
  if (certificate.validToDate.getTime() - RENEWAL_MS < wallMs) return true;
  return namesFor(hosts).some(
    ({ type, value }) =>
      (type === 'ip' ? certificate.checkIP(value) : certificate.checkHost(value)) === undefined,
  );
}

/**
 * Checks a certificate and its key, given by a user.
 * @throws {Error} that says what is wrong with which of them
 */
export function checkCertificate({ cert, key }: ServingCertificate, clock: Clock): void {
  const certificate = readCertificate(cert);
  if (!certificate.checkPrivateKey(readKey(key)))
    throw new Error('the key does not belong to the certificate');
  const wallMs = Number(clock.wallTime() / 1000n);
  if (certificate.validToDate.getTime() < wallMs) {
    throw new Error(`the certificate ended on ${certificate.validToDate.toISOString()}`);
  }
  if (certificate.validFromDate.getTime() > wallMs) {
    throw new Error(`the certificate does not begin before ${certificate.validFromDate.toISOString()}`);
  }
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error('the certificate cannot be read: it has to be X.509 in PEM', { cause });
  }
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const hint = pem.includes('ENCRYPTED') ? 'it is encrypted' : 'it has to be a private key in PEM';
    throw new Error(`the key cannot be read: ${hint}`, { cause });
  }
}

/** An address that stands for every one of a machine cannot be connected to, so that nobody need vouch for it. */
function namesFor(hosts: readonly string[]): readonly SubjectName[] {
  const names = new Set([...LOOPBACK, ...hosts].filter((host) => host !== '0.0.0.0' && host !== '::'));
  return [...names].map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }));
}
