import { createPrivateKey, KeyObject, randomBytes, type webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { BitString, Integer, OctetString, Utf8String } from 'asn1js';
import {
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
} from 'pkijs';
import type { Clock } from '../../support/clock.ts';

/** The certificate and the key of a server, in PEM. */
export interface ServingCertificate {
  /** The certificate. The certificates of its issuers follow, if there are any. */
  readonly cert: string;
  readonly key: string;
}

/** A serving certificate, and the CA that clients must trust. */
export interface GeneratedCertificate extends ServingCertificate {
  readonly ca: string;
}

const DAY_MS = 24 * 3_600_000;
const LIFE_MS = 365 * DAY_MS;
const RENEWAL_MS = 30 * DAY_MS;
/** Certificates are valid from an hour before now: machines with slow clocks must accept them at once. */
const BACKDATED_MS = 3_600_000;
const AUTHORITY = 'coordination-api-server-ca';
const SERVER = 'coordination-api-server';
const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const KEY_USAGE = '2.5.29.15';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1';
/** Bits of KeyUsage. The first bit is the highest. */
const DIGITAL_SIGNATURE = 0x80;
const CERTIFICATE_SIGNING = 0x04;
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/**
 * Generates a CA and a server certificate. The server certificate is valid for a year, for `hosts` and this machine's own
 * names. The key of the CA is discarded: the CA issues no other certificate.
 */
export async function generateCertificate(
  hosts: readonly string[],
  clock: Clock,
): Promise<GeneratedCertificate> {
  const wallMs = Number(clock.wallTime() / 1000n);
  const [authority, server] = await Promise.all([newKeys(), newKeys()]);
  const issue = (subject: string, publicKey: webcrypto.CryptoKey, extensions: Extension[]) =>
    issueCertificate({
      ...{ subject, publicKey, extensions },
      issuer: { name: AUTHORITY, key: authority.privateKey },
      notBefore: new Date(wallMs - BACKDATED_MS),
      notAfter: new Date(wallMs + LIFE_MS),
    });
  const [ca, cert] = await Promise.all([
    issue(AUTHORITY, authority.publicKey, authorityExtensions()),
    issue(SERVER, server.publicKey, serverExtensions(namesFor(hosts))),
  ]);
  const key = KeyObject.from(server.privateKey).export({ type: 'pkcs8', format: 'pem' });
  return { ca, cert, key: key.toString() };
}

/**
 * True if a stored certificate must be replaced. It expires soon, does not cover one of `hosts`, or does not belong to its
 * CA or key, because a renewal was interrupted.
 */
export function needsRenewal(stored: GeneratedCertificate, hosts: readonly string[], clock: Clock): boolean {
  const certificate = readCertificate(stored.cert);
  const isOfAuthority = certificate.verify(readCertificate(stored.ca).publicKey);
  if (!isOfAuthority || !certificate.checkPrivateKey(readKey(stored.key))) return true;
  const wallMs = Number(clock.wallTime() / 1000n);
  if (certificate.validToDate.getTime() - RENEWAL_MS < wallMs) return true;
  const covers = (name: string) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name));
  return namesFor(hosts).some((name) => covers(name) === undefined);
}

/** Checks a user's certificate and key. @throws {Error} that names the problem and the file */
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

/** Returns the names that clients connect to. An unspecified address is not one of them: clients cannot connect to it. */
function namesFor(hosts: readonly string[]): readonly string[] {
  const names = new Set([...LOOPBACK, ...hosts]);
  return [...names].filter((host) => host !== '0.0.0.0' && host !== '::');
}

interface CertificateParts {
  readonly subject: string;
  readonly publicKey: webcrypto.CryptoKey;
  /** The issuer of the certificate. A CA issues its own certificate. */
  readonly issuer: { readonly name: string; readonly key: webcrypto.CryptoKey };
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly extensions: Extension[];
}

/** Generates a key pair: ECDSA on P-256. */
function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
}

/** Issues a certificate, in PEM. */
async function issueCertificate(parts: CertificateParts): Promise<string> {
  const certificate = new Certificate();
  certificate.version = 2;
  // Clears the first bit: it is the sign, and the serial number must be positive.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  certificate.serialNumber = new Integer({ valueHex: arrayBuffer(serial) });
  certificate.issuer.typesAndValues.push(commonName(parts.issuer.name));
  certificate.subject.typesAndValues.push(commonName(parts.subject));
  certificate.notBefore.value = parts.notBefore;
  certificate.notAfter.value = parts.notAfter;
  certificate.extensions = parts.extensions;
  await certificate.subjectPublicKeyInfo.importKey(parts.publicKey);
  await certificate.sign(parts.issuer.key, 'SHA-256');
  const base64 = Buffer.from(certificate.toSchema(true).toBER()).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

function authorityExtensions(): Extension[] {
  return [
    extension(BASIC_CONSTRAINTS, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 }).toSchema()),
    extension(KEY_USAGE, true, keyUsage(DIGITAL_SIGNATURE | CERTIFICATE_SIGNING, 2)),
  ];
}

function serverExtensions(hosts: readonly string[]): Extension[] {
  const names = hosts.map((value) => {
    if (isIP(value) === 0) return new GeneralName({ type: DNS_NAME, value });
    const address = new OctetString({ valueHex: arrayBuffer(ipBytes(value)) });
    return new GeneralName({ type: IP_ADDRESS, value: address });
  });
  const usages = new ExtKeyUsage({ keyPurposes: [SERVER_AUTHENTICATION] });
  return [
    extension(BASIC_CONSTRAINTS, true, new BasicConstraints({ cA: false }).toSchema()),
    extension(KEY_USAGE, true, keyUsage(DIGITAL_SIGNATURE, 7)),
    extension(EXTENDED_KEY_USAGE, false, usages.toSchema()),
    extension(SUBJECT_ALTERNATIVE_NAME, false, new GeneralNames({ names }).toSchema()),
  ];
}

function keyUsage(bits: number, unusedBits: number): BitString {
  return new BitString({ valueHex: arrayBuffer(Buffer.from([bits])), unusedBits });
}

function extension(extnID: string, critical: boolean, value: { toBER(): ArrayBuffer }): Extension {
  return new Extension({ extnID, critical, extnValue: value.toBER() });
}

function commonName(value: string): AttributeTypeAndValue {
  return new AttributeTypeAndValue({ type: COMMON_NAME, value: new Utf8String({ value }) });
}

/** Returns the 4 or 16 bytes of a valid IP address. */
function ipBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  // A URL also formats a trailing IPv4 address as hexadecimal groups.
  const { hostname } = new URL(`http://[${address.split('%', 1)[0]}]`);
  const [before = [], after = []] = hostname.slice(1, -1).split('::').map(bytesOfGroups);
  return Buffer.from([...before, ...Array<number>(16 - before.length - after.length).fill(0), ...after]);
}

function bytesOfGroups(text: string): number[] {
  const groups = text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  return groups.flatMap((group) => [group >> 8, group & 0xff]);
}

/** Copies bytes into their own buffer: the library uses the whole buffer, and Node's buffers may share memory. */
function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}
