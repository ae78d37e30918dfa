import { describe, expect, it } from '@jest/globals';
import { InvalidBody } from '../../parser-for.js';
import { parseInvitationPost, parseTeamPut, readsAsForeignSlug } from './team.js';

function wrongPlaces(parse: (body: unknown) => unknown, body: unknown): string[] {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof InvalidBody) return error.fields.map((field) => field.pointer);
    throw error;
  }
  return [];
}

describe('the address of an invitation', () => {
  it.each([
    'ada@acme.test',
    'Ada.Lovelace+corral@Mail.Acme-Corp.example',
    "o'neil@acme.test",
    'x'.repeat(64).concat('@acme.test'),
  ])('may be %s', (email) => {
    expect(parseInvitationPost({ email })).toEqual({ email, role: 'member' });
  });

  it.each([
    '',
    'ada',
    '@acme.test',
    'ada@',
    'ada@@acme.test',
    'ada@localhost',
    'ada@acme..test',
    'ada@-acme.test',
    'ada@acme.test.',
    'a@b,c@d',
    'a@b;c@d',
    'Ada <ada@acme.test>',
    '"a b"@acme.test',
    'a b@acme.test',
    'ada@acme.test\n',
    'a\r\n@b',
    'ада@acme.test',
    'ada@аcme.test',
    'ada@[127.0.0.1]',
    'a@b\0',
    `${'x'.repeat(65)}@acme.test`,
    `a@${'b'.repeat(64)}.test`,
    `a@${'b.'.repeat(126)}test`,
  ])('cannot be %j', (email) => {
    expect(wrongPlaces(parseInvitationPost, { email })).toContain('/email');
  });
});

describe('the name of a team', () => {
  it.each(['Rockets', ' x ', '火箭', '👩‍🚀 crew', '❤️‍🔥', 'می‌خواهم', 'क्‍ष', 'a'.repeat(100)])('may be %j', (name) => {
    expect(parseTeamPut({ name })).toEqual({ name });
  });

  it.each([
    '',
    ' ',
    '\u00a0',
    'a\nb',
    'a\rb',
    'a\tb',
    'a\0b',
    'a\u0085b',
    'a\u2028b',
    'a\u2029b',
    'a\u202eb',
    'a\u2066b\u2069',
    'a\u200eb',
    'a\u200bb',
    'a\u200db',
    'aé\u200d',
    '\u200c火',
    'a\u2060b',
    'a\u00adb',
    '\ufeffa',
    '\u3164',
    'a'.repeat(101),
    1,
    null,
  ])('cannot be %j', (name) => {
    expect(wrongPlaces(parseTeamPut, { name })).toContain('/name');
  });
});

describe('the name of the team acme reads as a foreign slug', () => {
  it.each([
    ['globex', true],
    ['globex-2', true],
    [' globex ', true],
    ['ｇｌｏｂｅｘ', true],
    ['glo\ufe0fbex', true],
    ['acme', false],
    ['Globex', false],
    ['the globex', false],
    ['globex.', false],
    ['глобекс', false],
  ])('%j: %s', (name, reads) => {
    expect(readsAsForeignSlug(name, 'acme')).toBe(reads);
  });
});
