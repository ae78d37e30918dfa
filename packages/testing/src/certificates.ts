import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { bitString, der, octetString, oid, sequence, text, time } from './der.js';

/** A certificate with its key, both in PEM; the key in PKCS #8. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const attributes = { CN: oid('550403'), O: oid('55040a') } as const;
const purposes = { server: oid('2b06010505070301'), client: oid('2b06010505070302') } as const;

/** Each attribute in a set of its own, but the values of one together. */
const nameOf = (...parts: readonly (readonly [attribute: keyof typeof attributes, ...values: string[]])[]): Buffer =>
  sequence(
    ...parts.map(([attribute, ...values]) =>
      der(0x31, ...values.map((value) => sequence(attributes[attribute], text(value)))),
    ),
  );

const extension = (id: string, value: Buffer, isCritical = false): Buffer =>
  sequence(oid(id), ...(isCritical ? [der(0x01, Buffer.of(0xff))] : []), octetString(value));

const basicConstraints = (isAuthority: boolean): Buffer =>
  extension('551d13', sequence(...(isAuthority ? [der(0x01, Buffer.of(0xff))] : [])), true);

/** @param bits the first one is `digitalSignature` */
const keyUsage = (bits: number, unusedBits: number): Buffer =>
  extension('551d0f', bitString(Buffer.of(bits), unusedBits), true);

const DIGITAL_SIGNATURE = keyUsage(0x80, 7);
const SIGNS_CERTIFICATES = keyUsage(0x86, 1);

/** RFC 5280, 4.2.1.2: of the point, which ends the encoding of a key on P-256. */
const identifierOf = (spki: Buffer): Buffer => createHash('sha1').update(spki.subarray(-65)).digest();

const newKeys = () =>
  generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

interface Content extends Validity {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: Buffer;
  readonly extensions: readonly Buffer[];
}

/** @param key of the issuer @returns PEM */
function signed({ subject, issuer, publicKey, extensions, notBefore, notAfter }: Content, key: string): string {
  const serial = randomBytes(16);
  // Positive, and without a leading zero byte.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    ecdsaWithSha256,
    issuer,
    sequence(time(notBefore), time(notAfter)),
    subject,
    publicKey,
    der(0xa3, sequence(...extensions)),
  );
  const whole = sequence(content, ecdsaWithSha256, bitString(sign('sha256', content, key)));
  return new X509Certificate(whole).toString();
}

/** Creates a self-signed certificate authority. */
export function makeAuthority(name: string, validity: Validity): KeyPair {
  const { publicKey, privateKey: key } = newKeys();
  const own = nameOf(['CN', name]);
  const identifier = extension('551d0e', octetString(identifierOf(publicKey)));
  const extensions = [basicConstraints(true), SIGNS_CERTIFICATES, identifier];
  return { certificate: signed({ ...validity, subject: own, issuer: own, publicKey, extensions }, key), key };
}

/** @param authority from {@link makeAuthority} */
function issue(authority: KeyPair, subject: Buffer, validity: Validity, extensions: readonly Buffer[]): KeyPair {
  const { publicKey, privateKey: key } = newKeys();
  const { CN } = new X509Certificate(authority.certificate).toLegacyObject().subject;
  const issuerKey = createPublicKey(authority.certificate).export({ type: 'spki', format: 'der' });
  const content = {
    ...validity,
    subject,
    issuer: nameOf(['CN', String(CN)]),
    publicKey,
    extensions: [
      basicConstraints(false),
      // Required by RFC 5280, 4.2.1.1. Python 3.13 and later reject certificates without it.
      extension('551d23', sequence(der(0x80, identifierOf(issuerKey)))),
      DIGITAL_SIGNATURE,
      ...extensions,
    ],
  };
  return { certificate: signed(content, authority.key), key };
}

const usedBy = (purpose: keyof typeof purposes): Buffer => extension('551d25', sequence(purposes[purpose]));

/** Issues a certificate for a server with these names and IPv4 addresses; the first name is its subject. */
export function issueServerCertificate(
  authority: KeyPair,
  names: { dns: readonly [string, ...string[]]; ip: readonly string[] },
  validity: Validity,
): KeyPair {
  const alternatives = [
    ...names.dns.map((name) => der(0x82, Buffer.from(name))),
    ...names.ip.map((address) => der(0x87, Buffer.from(address.split('.').map(Number)))),
  ];
  const extensions = [usedBy('server'), extension('551d11', sequence(...alternatives))];
  return issue(authority, nameOf(['CN', names.dns[0]]), validity, extensions);
}

/**
 * Issues a client certificate. Kubernetes reads the user from the common name and the groups from the organizations.
 */
export function issueClientCertificate(
  authority: KeyPair,
  user: string,
  groups: readonly string[],
  validity: Validity,
): KeyPair {
  const subject = groups.length === 0 ? nameOf(['CN', user]) : nameOf(['CN', user], ['O', ...groups]);
  return issue(authority, subject, validity, [usedBy('client')]);
}
