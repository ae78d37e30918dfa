import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canRead, type TokenCoverage, writeRefusal } from '../src/index.js';

const aTeam = (change: Partial<TokenCoverage> = {}): TokenCoverage => ({
  ownerLabel: 'acme',
  withinName: null,
  withinTypes: [],
  ...change,
});
const zoneName = 'example.test';
const write = (name: string, type = 'A', token = aTeam()) =>
  writeRefusal(token, { zoneName, name, type }) === null ? 'allowed' : 'forbidden';
const read = (name: string, type = 'A', token = aTeam()) =>
  canRead(token, { zoneName, name, type }) ? 'allowed' : 'not_found';

describe('a name', () => {
  it.each([
    'acme',
    'api.acme',
    'a.b.acme',
    '*.acme',
    '_acme-challenge.acme',
    '_acme-challenge.api.acme',
    'globex.acme',
    'reg-a.acme',
  ])('%j can be read and written by the team', (name) => {
    expect([read(name), write(name)]).toEqual(['allowed', 'allowed']);
  });

  it.each([
    ['the apex', '@'],
    ['the apex as an empty name', ''],
    ['the apex as the zone name', 'example.test'],
    ['the name of another team', 'globex'],
    ['a name below that of another team', 'acme.globex'],
    ['the wildcard of the whole zone', '*'],
    ['the challenge name of the apex certificate', '_acme-challenge'],
    ['a sibling that an ExternalDNS registry would choose', 'a-acme'],
    ['a suffix without a label boundary', 'xacme'],
    ['upper case', 'ACME'],
    ['one letter in upper case', 'api.Acme'],
    ['a trailing dot', 'api.acme.'],
    ['the full name', 'api.acme.example.test'],
    ['the full name with a trailing dot', 'api.acme.example.test.'],
    ['a decoded slash', 'globex/A/../acme'],
    ['a percent-encoded letter', '%61cme'],
    ['a NUL before the team’s name', 'globex\0.acme'],
    ['a line feed', 'globex\n.acme'],
    ['a wildcard in the middle', 'a.*.acme'],
    ['only dots', '..'],
  ])('is not found for reads and forbidden for writes when it is %s', (_what, name) => {
    expect([read(name), write(name)]).toEqual(['not_found', 'forbidden']);
  });

  it('is checked before the type, so that errors do not reveal what exists', () => {
    expect(writeRefusal(aTeam(), { zoneName, name: 'globex', type: 'MX' })).toMatch(/does not belong to you/);
  });

  it('outside the team’s subtree is never readable or writable, in any spelling', () => {
    const tricky = fc.constantFrom('acme', 'ACME', 'globex', 'x', '.', '..', '*', '@', '%2e', '/', '\0', '-', '_');
    const spelled = fc.array(tricky, { maxLength: 6 }).map((parts) => parts.join(''));
    const dotted = fc.array(tricky, { maxLength: 5 }).map((parts) => parts.join('.'));
    const anyName = fc.oneof(spelled, dotted, fc.string({ unit: 'binary', maxLength: 40 }));
    fc.assert(
      fc.property(anyName, (name) => {
        // Compares labels from the end, independently of the code under test.
        const owned = name.split('.').at(-1) === 'acme';
        if (!owned) expect([read(name), write(name)]).toEqual(['not_found', 'forbidden']);
        if (write(name) === 'allowed') expect(name).toMatch(/^(\*\.)?([a-z0-9_-]{1,63}\.)*acme$/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a type', () => {
  it.each(['A', 'AAAA', 'CNAME', 'TXT'])('%s can be written', (type) => {
    expect(write('api.acme', type)).toBe('allowed');
  });

  it.each([
    'NS',
    'SOA',
    'MX',
    'CAA',
    'SRV',
    'PTR',
    'DS',
    'HTTPS',
    'a',
    'Txt',
    'txt',
    '',
    'A ',
    ' A',
    'A\0',
    'ANY',
    'A/B',
    'toString',
    '__proto__',
  ])('%j cannot be written', (type) => {
    expect(write('api.acme', type)).toBe('forbidden');
  });

  it.each(['A', 'NS', 'MX', 'HTTPS', 'TYPE65535'])('%s can be read if the zone has it', (type) => {
    expect(read('api.acme', type)).toBe('allowed');
  });

  it.each(['a', '', 'A\0', 'A/..', 'A'.repeat(17)])('%j is not found for reads', (type) => {
    expect(read('api.acme', type)).toBe('not_found');
  });
});

describe('a restricted token', () => {
  const prod = aTeam({ withinName: 'prod.acme' });

  it.each([
    ['prod.acme', 'allowed', 'allowed'],
    ['api.prod.acme', 'allowed', 'allowed'],
    ['acme', 'not_found', 'forbidden'],
    ['test.acme', 'not_found', 'forbidden'],
    ['xprod.acme', 'not_found', 'forbidden'],
    ['prod.globex', 'not_found', 'forbidden'],
  ])('for prod.acme reads %s: %s, writes it: %s', (name, reading, writing) => {
    expect([read(name, 'A', prod), write(name, 'A', prod)]).toEqual([reading, writing]);
  });

  it('for some types writes only those, and reads all', () => {
    const challenges = aTeam({ withinTypes: ['TXT'] });

    expect(write('api.acme', 'TXT', challenges)).toBe('allowed');
    expect(write('api.acme', 'A', challenges)).toBe('forbidden');
    expect(read('api.acme', 'A', challenges)).toBe('allowed');
  });

  it('for a foreign name gives no access', () => {
    const broken = aTeam({ withinName: 'globex' });

    expect([write('globex', 'A', broken), write('acme', 'A', broken)]).toEqual(['forbidden', 'forbidden']);
    expect([read('globex', 'A', broken), read('acme', 'A', broken)]).toEqual(['not_found', 'not_found']);
  });
});
