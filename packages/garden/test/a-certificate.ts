import { issueClientCertificate, issueServerCertificate, makeAuthority } from '@corral/testing/certificates';

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
  issue(commonName: string, dnsName?: string): Issued;
}

export async function anAuthority(name = 'authority'): Promise<Authority> {
  const authority = makeAuthority(name, validity);
  const issue = (commonName: string, dnsName?: string): Issued => {
    const { certificate, key } =
      dnsName === undefined
        ? issueClientCertificate(authority, commonName, ['tests'], validity)
        : issueServerCertificate(authority, { dns: [dnsName], ip: [] }, validity);
    return { cert: certificate, key };
  };
  const issued = new Map<string, Issued>();
  return {
    ca: authority.certificate.trimEnd(),
    issue(commonName, dnsName) {
      const known = issued.get(commonName) ?? issue(commonName, dnsName);
      issued.set(commonName, known);
      return known;
    },
  };
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');
