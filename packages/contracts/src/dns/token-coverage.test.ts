import { describe, expect, it } from '@jest/globals';
import {
  canNarrowTo,
  canRead,
  coveredRoot,
  coversName,
  coversType,
  type TokenCoverage,
  writeRefusal,
} from './token-coverage.js';

const coverage = (of: Partial<TokenCoverage> = {}): TokenCoverage => ({
  ownerLabel: 'acme',
  withinName: null,
  withinTypes: [],
  ...of,
});

describe('the names a token covers', () => {
  it.each([
    ['acme', true],
    ['api.acme', true],
    ['*.acme', true],
    ['a.b.c.acme', true],
    ['xacme', false],
    ['api.xacme', false],
    ['acme.globex', false],
    ['globex', false],
    ['@', false],
    ['', false],
    ['.acme', true], // invalid, but rejected by the parser of names
    ['ACME', false],
  ])('with a team token: %j %p', (name, covered) => {
    expect(coversName(coverage(), name)).toBe(covered);
  });

  it.each([
    ['prod.acme', true],
    ['api.prod.acme', true],
    ['acme', false],
    ['dev.acme', false],
    ['xprod.acme', false],
  ])('with a token narrowed to prod.acme: %j %p', (name, covered) => {
    expect(coversName(coverage({ withinName: 'prod.acme' }), name)).toBe(covered);
  });

  it('exclude other teams, whatever the token is narrowed to', () => {
    expect(coversName(coverage({ withinName: 'globex' }), 'globex')).toBe(false);
  });

  it('start at the name that the token is narrowed to, or else at the team', () => {
    expect(coveredRoot(coverage())).toBe('acme');
    expect(coveredRoot(coverage({ withinName: 'prod.acme' }))).toBe('prod.acme');
  });
});

describe('the types a token may write', () => {
  it('are all types unless the token lists some', () => {
    expect(coversType(coverage(), 'A')).toBe(true);
    expect(coversType(coverage({ withinTypes: ['TXT'] }), 'TXT')).toBe(true);
    expect(coversType(coverage({ withinTypes: ['TXT'] }), 'A')).toBe(false);
    expect(coversType(coverage({ withinTypes: ['TXT'] }), 'txt')).toBe(false);
  });
});

describe('the name that a new token is narrowed to', () => {
  it.each([
    ['acme', true],
    ['ci.acme', true],
    ['_acme-challenge.acme', true],
    ['globex', false],
    ['xacme', false],
    ['', false],
    ['.acme', false],
    ['CI.acme', false],
  ])('%j lies within acme: %p', (name, allowed) => {
    expect(canNarrowTo(name, 'acme')).toBe(allowed);
  });
});

describe('a record set', () => {
  const rrset = (name: string, type = 'TXT') => ({ zoneName: 'example.test', name, type });
  const challenges = coverage({ withinName: '_acme-challenge.acme', withinTypes: ['TXT'] });

  it.each([
    [rrset('_acme-challenge.acme'), null],
    [rrset('api.acme.'), /^The name is not valid\. Use acme or a name below it/],
    [rrset('www.globex'), /^The name does not belong to you/],
    [rrset('www.acme'), 'This token can write only _acme-challenge.acme and names below it.'],
    [rrset('_acme-challenge.acme', 'MX'), /^Records of this type cannot be written/],
    [rrset('_acme-challenge.acme', 'A'), 'This token can write only the types TXT.'],
  ])('%j is refused with the first reason that applies', (named, refusal) => {
    const said = writeRefusal(challenges, named);

    if (refusal === null) expect(said).toBeNull();
    else expect(said).toMatch(refusal);
  });

  it('can be read with any type at a covered name', () => {
    expect(canRead(challenges, rrset('_acme-challenge.acme', 'MX'))).toBe(true);
    expect(canRead(challenges, rrset('www.acme'))).toBe(false);
    expect(canRead(challenges, rrset('_acme-challenge.acme', 'mx'))).toBe(false);
  });
});
