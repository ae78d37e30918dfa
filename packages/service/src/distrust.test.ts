import { describe, expect, it } from '@jest/globals';
import { adviceOnDistrust } from './distrust.js';

describe('the advice on a certificate that is not accepted', () => {
  it.each([
    ['unable to verify the first certificate; if the root CA is installed locally, try …', /NODE_EXTRA_CA_CERTS/],
    ['Error opening a TLS connection: self-signed certificate in certificate chain', /NODE_EXTRA_CA_CERTS/],
    ['unable to get local issuer certificate', /NODE_EXTRA_CA_CERTS/],
    ["Hostname/IP does not match certificate's altnames: Host: localhost.", /another name/],
    ['certificate has expired', /renew it/],
  ])('says what to do about "%s"', (text, advice) => {
    expect(adviceOnDistrust(text)).toMatch(advice);
  });

  it('is none for other errors', () => {
    expect(adviceOnDistrust('connect ECONNREFUSED 127.0.0.1:5432')).toBeNull();
  });
});
