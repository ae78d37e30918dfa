import { asTeamId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { callerRoot, type DnsCaller, maySee, mayWriteType } from './caller.js';

const caller = (of: Partial<DnsCaller> = {}): DnsCaller => ({
  tokenId: 't',
  kind: 'team',
  ownerId: 'a',
  ownerLabel: 'acme',
  teamId: asTeamId('a'),
  accountId: 'a',
  scopes: ['dns'],
  withinName: null,
  withinTypes: [],
  expiresAt: null,
  ...of,
});

describe('the names a caller sees', () => {
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
  ])('with a team token: %j %p', (name, seen) => {
    expect(maySee(caller(), name)).toBe(seen);
  });

  it.each([
    ['prod.acme', true],
    ['api.prod.acme', true],
    ['acme', false],
    ['dev.acme', false],
    ['xprod.acme', false],
  ])('with a token narrowed to prod.acme: %j %p', (name, seen) => {
    expect(maySee(caller({ withinName: 'prod.acme' }), name)).toBe(seen);
  });

  it('exclude other teams, whatever the token is narrowed to', () => {
    expect(maySee(caller({ withinName: 'globex' }), 'globex')).toBe(false);
  });

  it('start at the name that the token is narrowed to, or else at the team', () => {
    expect(callerRoot(caller())).toBe('acme');
    expect(callerRoot(caller({ withinName: 'prod.acme' }))).toBe('prod.acme');
  });
});

describe('the types a caller may write', () => {
  it('are all types unless the token lists some', () => {
    expect(mayWriteType(caller(), 'A')).toBe(true);
    expect(mayWriteType(caller({ withinTypes: ['TXT'] }), 'TXT')).toBe(true);
    expect(mayWriteType(caller({ withinTypes: ['TXT'] }), 'A')).toBe(false);
    expect(mayWriteType(caller({ withinTypes: ['TXT'] }), 'txt')).toBe(false);
  });
});
