import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalPath } from './service-app.js';

describe('the canonical path', () => {
  it.each([
    ['/v1/zones', '/v1/zones'],
    ['//v1/zones', '/v1/zones'],
    ['/v1//zones///example.test', '/v1/zones/example.test'],
    ['/v1/zones//', '/v1/zones/'],
    ['/a%2Fb', '/a%2Fb'],
    ['/%zz', '/%25zz'],
    ['/%ff', '/%25ff'],
    ['/%C3%A9', '/%C3%A9'],
    ['/ok%20/%/ok%20', '/ok%20/%25/ok%20'],
    ['/%2e%2e/b', '/%2e%2e/b'],
    ['http://dns.example.test/v1/zones', 'http://dns.example.test/v1/zones'],
    ['HTTPS://dns.example.test:8443//v1//%', 'HTTPS://dns.example.test:8443/v1/%25'],
    ['*', '*'],
    ['', ''],
  ])('of %j is %j', (path, canonical) => {
    expect(canonicalPath(path)).toBe(canonical);
  });

  it('can be decoded by segments, has no empty inner segment, and is its own canonical path', () => {
    const part = fc.constantFrom('/', '//', '%', '%2', '%2F', '%ff', '%C3', '%A9', 'a', '.', '..', '%00', '%25', 'é');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const canonical = canonicalPath(`/${parts.join('')}`);
        expect(canonical).not.toContain('//');
        for (const segment of canonical.split('/')) expect(() => decodeURIComponent(segment)).not.toThrow();
        expect(canonicalPath(canonical)).toBe(canonical);
      }),
      { numRuns: 200 },
    );
  });
});
