import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

export interface Issued {
  /** PEM */
  cert: string;
  /** PEM */
  key: string;
}

export interface Authority {
  /** PEM */
  ca: string;
  /**
   * The same certificate for the same name.
   *
   * @param dnsName of a server; without it the certificate is for a client
   */
  issue(commonName: string, dnsName?: string): Promise<Issued>;
}

export async function anAuthority(name = 'authority'): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const ca = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new BasicConstraintsExtension(true, 1, true)],
  });
  const issue = async (commonName: string, dnsName?: string): Promise<Issued> => {
    const own = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const names = dnsName === undefined ? [] : [new SubjectAlternativeNameExtension([{ type: 'dns', value: dnsName }])];
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${commonName}`,
      issuer: ca.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      ...validity,
      extensions: names,
    });
    const key = Buffer.from(await crypto.subtle.exportKey('pkcs8', own.privateKey)).toString('base64');
    return {
      cert: certificate.toString('pem'),
      key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`,
    };
  };
  const issued = new Map<string, Promise<Issued>>();
  return {
    ca: new X509Certificate(ca.rawData).toString('pem'),
    issue(commonName, dnsName) {
      const known = issued.get(commonName) ?? issue(commonName, dnsName);
      issued.set(commonName, known);
      return known;
    },
  };
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');
