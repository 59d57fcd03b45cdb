import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate and its private key, in PEM. */
export interface Identity {
  readonly name: string;
  readonly cert: string;
  readonly key: string;
  readonly privateKey: KeyObject;
}

/** A certificate authority for one test. */
export function makeAuthority(name = 'test authority'): Identity {
  return issue(name, undefined, [extension('551d13', true, der(0x30, der(0x01, Buffer.from([0xff]))))]);
}

/** A certificate for a server under `host`, or for a client under the name `host`. */
export function makeIdentity(authority: Identity, host: string): Identity {
  const names = der(0x30, der(0x82, Buffer.from(host, 'ascii')));
  return issue(host, authority, [extension('551d11', false, names)]);
}

/** Writes only the parts of X.509 that TLS requires. */
function issue(name: string, issuer: Identity | undefined, extensions: readonly Buffer[]): Identity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const toBeSigned = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    commonName(issuer?.name ?? name),
    der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('490101000000Z'))),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, ...extensions)),
  );
  const signature = sign('sha256', toBeSigned, issuer?.privateKey ?? privateKey);
  const certificate = der(0x30, toBeSigned, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const base64 = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    name,
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
  };
}

const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));

function commonName(name: string): Buffer {
  return der(
    0x30,
    der(0x31, der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name)))),
  );
}

function extension(oid: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? der(0x01, Buffer.from([0xff])) : Buffer.alloc(0);
  return der(0x30, der(0x06, Buffer.from(oid, 'hex')), flag, der(0x04, value));
}

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
