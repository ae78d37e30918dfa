import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { issueClientCertificate, issueServerCertificate, makeAuthority } from '../src/certificates.js';

const validity = { notBefore: new Date('2026-01-02T03:04:05Z'), notAfter: new Date('2051-01-02T03:04:05Z') };
const authority = makeAuthority('Tests & more', validity);
const root = new X509Certificate(authority.certificate);

describe('a certificate', () => {
  it('of an authority signs itself', () => {
    expect([root.ca, root.subject, root.verify(root.publicKey)]).toEqual([true, 'CN=Tests & more', true]);
  });

  it('of a server has its names, its times and its key, and chains to the authority', () => {
    const names = { dns: ['a.test', 'b.test'], ip: ['127.0.0.1'] } as const;
    const made = issueServerCertificate(authority, names, validity);
    const certificate = new X509Certificate(made.certificate);

    expect(certificate.subject).toBe('CN=a.test');
    expect(certificate.subjectAltName).toBe('DNS:a.test, DNS:b.test, IP Address:127.0.0.1');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect([certificate.validFromDate, certificate.validToDate]).toEqual([validity.notBefore, validity.notAfter]);
    expect([certificate.checkIssued(root), certificate.verify(root.publicKey), certificate.ca]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('of a client has its user and groups', () => {
    const { certificate } = issueClientCertificate(authority, 'gardener.cloud:admin:ü', ['a', 'b'], validity);

    expect(new X509Certificate(certificate).toLegacyObject().subject).toEqual({
      CN: 'gardener.cloud:admin:ü',
      O: ['a', 'b'],
    });
  });
});
