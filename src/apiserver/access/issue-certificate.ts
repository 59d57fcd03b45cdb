import { randomBytes, type webcrypto } from 'node:crypto';
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

/** A name that a server is reached by. */
export interface SubjectName {
  readonly type: 'dns' | 'ip';
  readonly value: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface CertificateParts {
  readonly subject: string;
  readonly publicKey: webcrypto.CryptoKey;
  /** Who vouches for it: itself, for an authority. */
  readonly issuer: { readonly name: string; readonly key: webcrypto.CryptoKey };
  readonly validity: Validity;
  /** What a server is reached by; absent for an authority. */
  readonly names?: readonly SubjectName[];
}

const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const KEY_USAGE = '2.5.29.15';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTHENTICATION = '1.3.6.1.5.5.7.3.1';
/** Bits of KeyUsage, the first one highest. */
const DIGITAL_SIGNATURE = 0x80;
const CERTIFICATE_SIGNING = 0x04;
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** A new key pair: ECDSA on P-256. */
export function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
}

/** Issues a certificate, in PEM: for a server where it has names, else for an authority. */
export async function issueCertificate(parts: CertificateParts): Promise<string> {
  const { subject, publicKey, issuer, validity, names } = parts;
  const certificate = new Certificate();
  certificate.version = 2;
  // The first bit decides over the sign, which has to be positive.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  certificate.serialNumber = new Integer({ valueHex: arrayBuffer(serial) });
  certificate.issuer.typesAndValues.push(commonName(issuer.name));
  certificate.subject.typesAndValues.push(commonName(subject));
  certificate.notBefore.value = validity.notBefore;
  certificate.notAfter.value = validity.notAfter;
  certificate.extensions = names ? serverExtensions(names) : authorityExtensions();
  await certificate.subjectPublicKeyInfo.importKey(publicKey);
  await certificate.sign(issuer.key, 'SHA-256');
  const base64 = Buffer.from(certificate.toSchema(true).toBER()).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

function authorityExtensions(): Extension[] {
  return [
    extension(BASIC_CONSTRAINTS, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 }).toSchema()),
    extension(KEY_USAGE, true, keyUsage(DIGITAL_SIGNATURE | CERTIFICATE_SIGNING, 2)),
  ];
}

function serverExtensions(names: readonly SubjectName[]): Extension[] {
  const generalNames = names.map(({ type, value }) =>
    type === 'dns'
      ? new GeneralName({ type: DNS_NAME, value })
      : new GeneralName({
          type: IP_ADDRESS,
          value: new OctetString({ valueHex: arrayBuffer(ipBytes(value)) }),
        }),
  );
  const usages = new ExtKeyUsage({ keyPurposes: [SERVER_AUTHENTICATION] });
  return [
    extension(BASIC_CONSTRAINTS, true, new BasicConstraints({ cA: false }).toSchema()),
    extension(KEY_USAGE, true, keyUsage(DIGITAL_SIGNATURE, 7)),
    extension(EXTENDED_KEY_USAGE, false, usages.toSchema()),
    extension(SUBJECT_ALTERNATIVE_NAME, false, new GeneralNames({ names: generalNames }).toSchema()),
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

/** The 4 or 16 bytes of an address that is known to be one. */
function ipBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').flatMap(ipGroup));
  const [before, after] = [groups(head), groups(tail ?? '')];
  return Buffer.from([...before, ...Array<number>(16 - before.length - after.length).fill(0), ...after]);
}

/** A group of an IPv6 address: two bytes, or four where an IPv4 address ends it. */
function ipGroup(text: string): number[] {
  if (text.includes('.')) return text.split('.').map(Number);
  const value = Number.parseInt(text, 16);
  return [value >> 8, value & 0xff];
}

/** The library wants a buffer of its own, where Node hands out parts of one. */
function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}
