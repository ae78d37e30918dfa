import { writeRefusal } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import { clientConfigs, exampleRrset } from './client-configs.js';

const use = (withinName: string | null = null, withinTypes: readonly string[] = []) => ({
  endpoint: 'https://dns.example.org/v1',
  zone: 'example.org',
  token: 'T'.repeat(64),
  coverage: { ownerLabel: 'acme', withinName, withinTypes },
});
const configOf = (id: string, of = use()) => {
  const config = clientConfigs(of).find((each) => each.id === id);
  if (config === undefined) throw new Error(`there is no ${id}`);
  return config;
};

describe('the configuration of clients', () => {
  test('contains the token and names the zone or the address', () => {
    for (const { secret, text } of clientConfigs(use())) {
      expect(secret ?? text).toContain('T'.repeat(64));
      expect(text).toMatch(/dns\.example\.org\/v1|acme\.example\.org/);
    }
  });

  test('keeps the token out of files that people commit', () => {
    for (const id of ['terraform', 'cert-manager', 'external-dns']) {
      const { secret, text } = configOf(id);
      expect(secret).toContain('T'.repeat(64));
      expect(text).not.toContain('T'.repeat(64));
    }
  });

  test('writes an example that the token may write', () => {
    const names = fc.constantFrom(null, 'acme', 'ci.acme', '_acme-challenge.acme');
    const types = fc.subarray(['A', 'AAAA', 'CNAME', 'TXT']);
    fc.assert(
      fc.property(names, types, (withinName, withinTypes) => {
        const of = use(withinName, withinTypes);
        const { name, type } = exampleRrset(of);

        expect(writeRefusal(of.coverage, { zoneName: of.zone, name, type })).toBeNull();
      }),
    );
  });

  test('a token for challenges gets the certificate of the name behind it', () => {
    const challenges = use('_acme-challenge.acme', ['TXT']);

    expect(configOf('lego', challenges)).toMatchObject({
      text: expect.stringContaining("--domains '*.acme.example.org'"),
      unsuitable: null,
    });
    expect(configOf('acme.sh', challenges).text).toContain("-d 'acme.example.org' -d '*.acme.example.org'");
  });

  test.each([
    ['lego', 'has its flags behind its command', /goacme\/lego:v5\S* \\\n {2}run --path/],
    ['external-dns', 'replaces the asterisk, which is not allowed behind its prefix', /--txt-wildcard-replacement=any/],
    ['cert-manager', 'waits for writes that wait for their turn', /httpTimeout: 30s/],
    ['external-dns', 'waits for answers', /READ_TIMEOUT.*600000/],
    ['external-dns', 'waits with answers', /WRITE_TIMEOUT.*600000/],
    ['external-dns', 'waits for its webhook', /--webhook-provider-write-timeout/],
  ])('that of %s %s', (id, _what, text) => {
    expect(configOf(id).text).toMatch(text);
  });

  test('says which clients cannot work with a narrow token', () => {
    const addresses = clientConfigs(use('home.acme', ['A', 'AAAA']));

    expect(addresses.filter(({ unsuitable }) => unsuitable !== null).map(({ id }) => id)).toEqual([
      'lego',
      'cert-manager',
      'external-dns',
      'acme.sh',
    ]);
  });

  test('manifests and values are valid YAML', () => {
    for (const id of ['cert-manager', 'external-dns']) {
      for (const document of parseAllDocuments(configOf(id).text)) {
        expect('errors' in document ? document.errors : []).toEqual([]);
      }
    }
  });

  test('an address in the endpoint is used as it is', () => {
    const { text } = configOf('lego', { ...use(), endpoint: 'http://127.0.0.1:2080/v1' });

    expect(text).toContain('--add-host "api.hetzner.cloud:127.0.0.1"');
  });
});
