import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseConnectionPost, parseConnectionPut } from './cluster/clusters/requests.js';
import { parseDnsTokenPost } from './cluster/dns/dns-token.js';
import { parseTeamPut } from './cluster/people/team.js';
import { parseAdoptedServerPost } from './cluster/servers/adopted-server.js';
import { parseCreateDemo } from './dns/requests.js';
import { InvalidBody } from './parser-for.js';
import { isShownName, shownNameOf, textRules } from './text-rules.js';

describe('a name that people read', () => {
  const spec = (more: object) => ({ spec: { provider: 'hcloud', token: 'x', ...more } });
  const server = { serverID: 1, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' };

  it.each<[string, string, (body: unknown) => unknown, (name: string) => object]>([
    ['of a team', '/name', parseTeamPut, (name) => ({ name })],
    ['of a new connection', '/spec/name', parseConnectionPost, (name) => spec({ name })],
    ['of a connection', '/spec/name', parseConnectionPut, (name) => spec({ name })],
    ['of a DNS token', '/name', parseDnsTokenPost, (name) => ({ name })],
    ['of a demo', '/name', parseCreateDemo, (name) => ({ name })],
    [
      'of a server type',
      '/spec/serverType',
      parseAdoptedServerPost,
      (serverType) => ({ spec: { ...server, serverType } }),
    ],
    ['of a location', '/spec/location', parseAdoptedServerPost, (location) => ({ spec: { ...server, location } })],
  ])('%s keeps one rule', (_what, pointer, parse, bodyWith) => {
    expect(() => parse(bodyWith('Köln 2 — ok'))).not.toThrow();
    for (const name of ['a\u202eb', 'a\u2067b', 'a\u200bb', 'a\nb', 'a\u0007', '\ufeff']) {
      let refusal: unknown = null;
      try {
        parse(bodyWith(name));
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(InvalidBody);
      expect((refusal as InvalidBody).fields).toMatchObject([{ pointer, message: textRules.shownName.must }]);
    }
  });
});

describe('a name from elsewhere', () => {
  it.each([
    ['is kept when people can read it', 'Ada  Lovelace ', 'Ada Lovelace'],
    ['is one line', 'Ada\r\nLovelace', 'Ada Lovelace'],
    ['loses what reverses text', '\u202eadA\u2066', 'adA'],
    ['loses what nobody sees', 'A\u200bd\u2060a', 'Ada'],
    ['keeps joined emoji', '👩‍🚀', '👩‍🚀'],
    ['is empty when nothing is visible', '\u200b \u3164', ''],
  ])('%s', (_what, given, name) => {
    expect(shownNameOf(given, 200)).toBe(name);
  });

  it('is a name that people can read, or empty, whatever it was', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom('é\u200d', '\u202e', ' '),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (parts, max) => {
        const name = shownNameOf(parts.join(''), max);

        expect(name === '' || isShownName(name)).toBe(true);
        expect([...name].length).toBeLessThanOrEqual(max);
      }),
    );
  });

  it('is checked in linear time', () => {
    const begun = performance.now();
    for (const text of ['é\u200d', ' ', 'é', 'é\u200dé']) isShownName(`${text.repeat(50_000)}\u202e`);

    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});
