import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isPublicAddress, issuerCalls } from '../tokens/issuer-calls.js';
import { claimMatches, conditionsHold, faultOfConditions } from './claim-conditions.js';

/* What a team may trust: the conditions on tokens of an issuer, and its address. */

const GITHUB = 'https://token.actions.githubusercontent.com';

describe('a condition on a claim', () => {
  it.each<[string, unknown]>([
    ['main', 'main'],
    ['true', true],
    ['42', 42],
    ['repo:acme/infra:*', 'repo:acme/infra:ref:refs/heads/main'],
    ['repo:acme/infra:*', 'repo:acme/infra:'],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/infra:ref:refs/heads/main'],
    ['refs/heads/release-*', 'refs/heads/release-1/2'],
    ['*', ''],
    ['*-prod', 'web-prod'],
    ['a.c*', 'a.c'],
  ])('%j fits %j', (pattern, claim) => {
    expect(claimMatches(pattern, claim)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['main', 'Main'],
    ['main', 'main '],
    ['main', 'main\n'],
    ['main', 'xmain'],
    ['main', ['main']],
    ['main', { main: true }],
    ['*', null],
    ['*', undefined],
    ['*', ['a']],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/a/b:ref:refs/heads/main'],
    ['repo:acme/*:ref:refs/heads/main', 'repo:acme/x:environment:y:ref:refs/heads/main'],
    ['repo:acme/infra:*', 'repo:acme/infra-evil:ref:refs/heads/main'],
    ['repo:acme/infra:*', 'xrepo:acme/infra:ref'],
    ['*-prod', 'web-prod-not'],
    ['*-prod', 'a/web-prod'],
    ['a.c*', 'abc'],
  ])('%j does not fit %j', (pattern, claim) => {
    expect(claimMatches(pattern, claim)).toBe(false);
  });

  it('is decided as by the regular expression that it stands for', () => {
    const part = fc.constantFrom('a', 'b', ':', '/', '*');
    const letter = fc.constantFrom('a', 'b', ':', '/');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 7 }), fc.array(letter, { maxLength: 8 }), (parts, letters) => {
        const source = parts
          .map((each, at) => (each !== '*' ? each : at === parts.length - 1 ? '.*' : '[^/:]*'))
          .join('');
        const [pattern, text] = [parts.join(''), letters.join('')];

        expect([pattern, text, claimMatches(pattern, text)]).toEqual([
          pattern,
          text,
          new RegExp(`^${source}$`).test(text),
        ]);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('conditions', () => {
  const claims = { sub: 'repo:acme/infra:ref', ref: 'refs/heads/main' };

  it.each([
    ['all of them', { sub: 'repo:acme/infra:*', ref: 'refs/heads/main' }, true],
    ['one of two', { sub: 'repo:acme/infra:*', ref: 'refs/heads/other' }, false],
    ['a claim that is absent', { sub: 'repo:acme/infra:*', actor: '*' }, false],
    ['a property that every object has', { sub: 'repo:acme/infra:*', constructor: '*' }, false],
  ])('hold or not: %s', (_what, conditions, holds) => {
    expect(conditionsHold(conditions, claims)).toBe(holds);
  });
});

describe('conditions that are too wide', () => {
  it.each([
    ['any subject', 'https://id.test', { sub: '*' }, 'sub'],
    ['a subject with a beginning', 'https://id.test', { sub: 'system:serviceaccount:*' }, null],
    ['a subject with a short beginning', 'https://id.test', { sub: 'repo:*' }, 'sub'],
    ['many stars', 'https://id.test', { sub: 'me', ref: 'a*b*c*d*' }, 'ref'],
    ['an exact subject', 'https://id.test', { sub: 'me' }, null],
    ['everybody on GitHub', GITHUB, { sub: 'repo:*/infra:ref:refs/heads/main' }, 'sub'],
    ['everybody with a branch', `${GITHUB}/`, { sub: 'repo:acme*:ref:refs/heads/main' }, 'sub'],
    ['an owner on GitHub', GITHUB, { sub: 'repo:acme/*' }, null],
    ['an owner by another claim', GITHUB, { sub: 'environment:prod', repository_owner_id: '42' }, null],
    ['an owner by a pattern', GITHUB, { sub: 'environment:prod', repository_owner: 'ac*' }, 'sub'],
    ['a group on GitLab', 'https://gitlab.com', { sub: 'project_path:acme/infra:*' }, null],
    ['everybody on GitLab', 'https://gitlab.com', { sub: 'project_path:*:ref_type:branch:ref:main' }, 'sub'],
  ])('are found: %s', (_what, issuer, conditions, name) => {
    expect(faultOfConditions(issuer, conditions)?.name ?? null).toBe(name);
  });
});

const calls = issuerCalls({ privateHosts: ['10.0.0.1', '*.k8s.test'], allowLoopback: false });

describe('an address', () => {
  it.each(['1.1.1.1', '140.82.112.3', '2606:4700::1111', '2a01:4f8::1'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:1.1.1.1',
    '64:ff9b::a00:1',
    'fe80::1',
    'fd00::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2002:a00:1::1',
    'not an address',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('the URL of an issuer', () => {
  it.each(['https://id.example.org/realm', 'https://10.0.0.1:6443', 'https://api.k8s.test'])('%s is allowed', (url) => {
    expect(calls.refusalOfUrl(new URL(url))).toBeNull();
  });

  it.each([
    'http://id.example.org',
    'http://127.0.0.1:8080',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://[::1]',
    'https://[::ffff:169.254.169.254]',
    'https://10.0.0.2',
    'https://user:password@id.example.org',
    'ftp://id.example.org',
  ])('%s is refused', (url) => {
    expect(calls.refusalOfUrl(new URL(url))).not.toBeNull();
  });

  it('with a name that leads to this machine is not called', async () => {
    await expect(calls.readJson(new URL('https://localhost:1/keys'))).rejects.toThrow('no answer: error, connecting');
  });
});
