import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { issueServerCertificate, makeAuthority } from './certificates.js';

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

describe('a server certificate', () => {
  it('is signed by its authority, for these names and addresses, and says so in a way that strict clients accept', async () => {
    const authority = await makeAuthority('an authority', validity);

    const names = { dns: ['api.example.test', 'localhost'], ip: ['127.0.0.1'] } as const;
    const issued = await issueServerCertificate(authority, names, validity);

    const [ca, server] = [new X509Certificate(authority.certificate), new X509Certificate(issued.certificate)];
    expect(ca.ca).toBe(true);
    expect(server.ca).toBe(false);
    expect(server.checkIssued(ca) && server.verify(ca.publicKey)).toBe(true);
    expect(server.subjectAltName).toBe('DNS:api.example.test, DNS:localhost, IP Address:127.0.0.1');
    expect(new Date(server.validTo)).toEqual(validity.notAfter);
    expect(keyIdOf(server.raw, AUTHORITY_KEY_ID)).toEqual(keyIdOf(ca.raw, SUBJECT_KEY_ID));
  });
});

/** How the two extensions begin in DER, up to the 20 bytes of the identifier. */
const AUTHORITY_KEY_ID = Buffer.from('0603551d23041830168014', 'hex');
const SUBJECT_KEY_ID = Buffer.from('0603551d0e04160414', 'hex');

function keyIdOf(der: Buffer, extension: Buffer): string {
  const at = der.indexOf(extension);
  if (at === -1) throw new Error('The certificate lacks the extension.');
  return der.subarray(at + extension.length, at + extension.length + 20).toString('hex');
}
