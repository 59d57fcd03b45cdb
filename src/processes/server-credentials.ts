import { randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TokenGrant } from '../apiserver/access/access.ts';
import {
  checkCertificate,
  type GeneratedCertificate,
  generateCertificate,
  needsRenewal,
  type ServingCertificate,
} from '../apiserver/access/certificates.ts';
import { generateToken, parseTokenFile } from '../apiserver/access/client-credentials.ts';
import type { ServeSettings } from '../settings/serve-settings.ts';
import type { Clock } from '../support/clock.ts';
import { makePrivateDirectory, withContext, writePrivateFile } from '../support/files.ts';

/** What a server shows its clients, and whom it lets in. */
export interface ServerCredentials {
  readonly tls: ServingCertificate;
  /** What clients have to trust for its sake, in PEM; undefined: what everybody trusts anyway. */
  readonly ca: string | undefined;
  readonly tokens: readonly TokenGrant[];
}

const TOKEN_BYTES = 24;

/**
 * Reads what the settings name, and generates the rest. With a data directory that is kept there, so that clients need
 * not be told anew after a restart.
 *
 * @throws {Error} that names the file or the flag that cannot be used.
 */
export async function obtainCredentials(settings: ServeSettings, clock: Clock): Promise<ServerCredentials> {
  const { dataDirectory, tlsCertificate, tlsKey, tokens, listen } = settings;
  if (dataDirectory !== undefined) {
    withContext(`--data-dir ${dataDirectory}`, () => makePrivateDirectory(dataDirectory));
  }
  const certificate =
    tlsCertificate !== undefined && tlsKey !== undefined
      ? readCertificate(tlsCertificate, tlsKey, clock)
      : await ownCertificate(dataDirectory, [listen.host], clock);
  return { ...certificate, tokens: tokens === undefined ? ownTokens(dataDirectory) : readTokens(tokens) };
}

function readCertificate(certFile: string, keyFile: string, clock: Clock) {
  const cert = withContext(`--tls-cert ${certFile}`, () => readFileSync(certFile, 'utf8'));
  const key = withContext(`--tls-key ${keyFile}`, () => readFileSync(keyFile, 'utf8'));
  withContext(`--tls-cert ${certFile}, --tls-key ${keyFile}`, () => checkCertificate({ cert, key }, clock));
  return { tls: { cert, key }, ca: rootIn(cert) };
}

/** The root of a chain that brings its own; one that does not is vouched for by somebody whom everybody trusts. */
function rootIn(chain: string): string | undefined {
  const last = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1);
  if (last === undefined) return undefined;
  const certificate = new X509Certificate(last);
  return certificate.checkIssued(certificate) ? last : undefined;
}

async function ownCertificate(directory: string | undefined, hosts: readonly string[], clock: Clock) {
  const files = directory === undefined ? undefined : certificateFiles(directory);
  const kept = files && readKept(files);
  const isGood = kept && !withContext(files.cert, () => needsRenewal(kept, hosts, clock));
  const { ca, cert, key } = isGood ? kept : await generateCertificate(hosts, clock);
  if (files && !isGood) {
    // The one that is asked for first comes last: a start that is cut short leaves nothing that looks complete.
    writePrivateFile(files.ca, ca);
    writePrivateFile(files.key, key);
    writePrivateFile(files.cert, cert);
  }
  return { tls: { cert, key }, ca };
}

function certificateFiles(directory: string) {
  return {
    ca: join(directory, 'ca.crt'),
    key: join(directory, 'tls.key'),
    cert: join(directory, 'tls.crt'),
  };
}

function readKept(files: ReturnType<typeof certificateFiles>): GeneratedCertificate | undefined {
  if (!existsSync(files.cert)) return undefined;
  const read = (file: string) => withContext(file, () => readFileSync(file, 'utf8'));
  return { ca: read(files.ca), key: read(files.key), cert: read(files.cert) };
}

function ownTokens(directory: string | undefined): readonly TokenGrant[] {
  const file = directory === undefined ? undefined : join(directory, 'tokens.json');
  if (file !== undefined && existsSync(file)) return readTokenFile(file, file);
  const tokens = (['admin', 'read-only'] as const).map((access) => ({
    name: access,
    token: generateToken(randomBytes(TOKEN_BYTES)),
    access,
  }));
  const text = `${JSON.stringify(tokens, null, 2)}\n`;
  if (file !== undefined) writePrivateFile(file, text);
  return parseTokenFile(text);
}

function readTokens(file: string): readonly TokenGrant[] {
  return readTokenFile(`--tokens ${file}`, file);
}

function readTokenFile(name: string, file: string): readonly TokenGrant[] {
  return withContext(name, () => parseTokenFile(readFileSync(file, 'utf8')));
}
