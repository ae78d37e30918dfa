// The ASN.1 library requires it at load time.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate with its key, both in PEM; the key in PKCS #8. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

const serialNumber = (): string => `00${randomBytes(15).toString('hex')}`;

const generateKeys = () => crypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify']);

async function toPair(
  certificate: X509Certificate,
  { privateKey }: Awaited<ReturnType<typeof generateKeys>>,
): Promise<KeyPair> {
  const key = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
  return { certificate: `${certificate.toString('pem')}\n`, key: `${key}\n` };
}

/** Creates a self-signed certificate authority. */
export async function makeAuthority(name: string, validity: Validity): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: serialNumber(),
    name: [{ CN: [name] }],
    signingAlgorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toPair(certificate, keys);
}

async function issue(
  authority: KeyPair,
  subject: JsonName,
  validity: Validity,
  extensions: Extension[],
): Promise<KeyPair> {
  const keys = await generateKeys();
  const issuer = new X509Certificate(authority.certificate);
  const pkcs8 = PemConverter.decodeFirst(authority.key);
  const signingKey = await crypto.subtle.importKey('pkcs8', pkcs8, signingAlgorithm, false, ['sign']);
  const certificate = await X509CertificateGenerator.create({
    ...validity,
    serialNumber: serialNumber(),
    subject,
    issuer: issuer.subjectName.toJSON(),
    signingAlgorithm,
    signingKey,
    publicKey: keys.publicKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      // Required by RFC 5280, 4.2.1.1. Python 3.13 and later reject certificates without it.
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...extensions,
    ],
  });
  return toPair(certificate, keys);
}

/** Issues a certificate for a server with these names and addresses; the first name is its subject. */
export function issueServerCertificate(
  authority: KeyPair,
  names: { dns: readonly [string, ...string[]]; ip: readonly string[] },
  validity: Validity,
): Promise<KeyPair> {
  const alternatives = [
    ...names.dns.map((value) => ({ type: 'dns' as const, value })),
    ...names.ip.map((value) => ({ type: 'ip' as const, value })),
  ];
  return issue(authority, [{ CN: [names.dns[0]] }], validity, [
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(alternatives),
  ]);
}

/**
 * Issues a client certificate. Kubernetes reads the user from the common name and the groups from the organizations.
 */
export function issueClientCertificate(
  authority: KeyPair,
  user: string,
  groups: readonly string[],
  validity: Validity,
): Promise<KeyPair> {
  return issue(authority, [{ CN: [user] }, { O: [...groups] }], validity, [
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
  ]);
}
