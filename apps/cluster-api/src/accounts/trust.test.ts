import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { claimMatches, conditionsHold, faultOfConditions } from './claim-conditions.js';

/* What a team may trust: the conditions on tokens of an issuer. */

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
      { numRuns: 200 },
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
