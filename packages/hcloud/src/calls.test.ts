import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { classifyRead, classifyWrite } from './calls.js';
import { type Exchange, isShallow, nestingMax, renderPath, routeOf, sliceElements, sliceMember } from './exchange.js';

describe('an exchange', () => {
  describe('renderPath', () => {
    it.each([[[]], [['zones', '']], [['.', 'rrsets']], [['zones', '..', 'rrsets']], [['\uD800']]])(
      'refuses the segments %j',
      (segments: string[]) => {
        expect(() => renderPath(segments)).toThrow(TypeError);
      },
    );

    it('keeps every segment unchanged through a URL parser', () => {
      const segment = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text !== '.' && text !== '..');

      fc.assert(
        fc.property(fc.array(segment, { minLength: 1 }), (segments) => {
          const url = new URL(`http://upstream.test/v1${renderPath(segments)}`);

          expect(url.search + url.hash).toBe('');
          expect(url.pathname.split('/').slice(2).map(decodeURIComponent)).toEqual(segments);
        }),
      );
    });
  });

  describe('routeOf', () => {
    it.each([
      ['POST', ['zones', '1', 'rrsets'], 'POST /zones/{zone}/rrsets'],
      ['DELETE', ['zones', '1', 'rrsets', '@', 'A'], 'DELETE /zones/{zone}/rrsets/{name}/{type}'],
      [
        'POST',
        ['zones', '1', 'rrsets', '@', 'A', 'actions', 'add_records'],
        'POST /zones/{zone}/rrsets/{name}/{type}/actions/add_records',
      ],
      [
        'POST',
        ['zones', '1', 'rrsets', '@', 'A', 'actions', 'app-42'],
        'POST /zones/{zone}/rrsets/{name}/{type}/actions/{action}',
      ],
      ['POST', ['zones', '1', 'team', 'x'], 'POST /zones/{zone}/rrsets/{name}'],
      ['POST', ['servers', '42'], 'POST other'],
    ])('names %s %j %j', (method, segments, route) => {
      expect(routeOf(method, segments)).toBe(route);
    });
  });
});

describe('what came of a call', () => {
  const anError = (code: string) => `{"error": {"code": "${code}", "message": "words", "details": null, "new": 1}}`;
  const html = '<html><body>502 Bad Gateway</body></html>';
  const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;

  const answered = (status: number, body: string | Buffer): Exchange => ({
    kind: 'answered',
    status,
    headers: {},
    body: Buffer.from(body as string),
  });

  describe('a write', () => {
    it.each([
      [200, '{}'],
      [201, '{"action": {"id": 1, "unknown": "kept"}}'],
      [202, ' { "rrset" : {} }\n'],
    ])('answered %i %j is accepted, and keeps its body unchanged', (status, body) => {
      expect(classifyWrite(answered(status, body))).toEqual({ kind: 'accepted', status, body });
    });

    it.each([
      [400, 'json_error', 'refused'],
      [403, 'forbidden', 'refused'],
      [403, 'maintenance', 'refused'],
      [403, 'a_code_of_tomorrow', 'refused'],
      [404, 'not_found', 'refused'],
      [412, 'resource_unavailable', 'refused'],
      [422, 'invalid_input', 'refused'],
      [423, 'protected', 'refused'],
      [500, 'server_error', 'failed'],
      [504, 'timeout', 'failed'],
    ])('answered %i %s has %s, and keeps its body unchanged', (status, code, kind) => {
      const body = anError(code);

      expect(classifyWrite(answered(status, body))).toEqual({ kind, status, code, body });
    });

    it.each([
      [401, 'unauthorized'],
      [401, 'token_readonly'],
      [401, 'a_code_of_tomorrow'],
      [403, 'token_readonly'],
      [403, 'unauthorized'],
    ])('answered %i %s is an error of our own token', (status, code) => {
      expect(classifyWrite(answered(status, anError(code)))).toEqual({ kind: 'credentials_refused', status, code });
    });

    it.each([
      ['200 without a body', 200, ''],
      ['204', 204, ''],
      ['200 with HTML', 200, html],
      ['201 with half a body', 201, '{"action": {"id": 1'],
      ['201 with an array', 201, '[]'],
      ['201 with null', 201, 'null'],
      ['201 with bytes that are no UTF-8', 201, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
      ['201 with a byte order mark', 201, '\uFEFF{}'],
      ['201 nested absurdly', 201, deep],
      ['301', 301, anError('moved')],
      ['401 with HTML', 401, html],
      ['404 with an object of another shape', 404, '{"message": "no route"}'],
      ['422 with a code that is no string', 422, '{"error": {"code": 1, "message": "words"}}'],
      ['422 without message', 422, '{"error": {"code": "invalid_input"}}'],
      ['422 with null for an error', 422, '{"error": null}'],
      ['500 without a body', 500, ''],
      ['502 with HTML', 502, html],
      ['503 with a JSON string', 503, '"unavailable"'],
    ])('answered %s is uncertain', (_what, status, body) => {
      expect(classifyWrite(answered(status, body))).toEqual({
        kind: 'uncertain',
        reason: expect.stringContaining(String(status)),
      });
    });

    it.each([['{"error": {"code": "rate_limit_exceeded", "message": "words"}}'], [html], ['']])(
      'answered 429 is rate limited, also with the body %j',
      (body) => {
        expect(classifyWrite(answered(429, body))).toEqual({ kind: 'rate_limited' });
      },
    );

    it.each([
      [true, 'uncertain'],
      [false, 'unreached'],
    ])('that failed (reached: %s) is %s', (reached, kind) => {
      expect(classifyWrite({ kind: 'broken', reached, reason: 'why' })).toEqual({ kind, reason: 'why' });
    });
  });

  describe('a read', () => {
    it.each([
      [200, '{"zone": {}}', 'ok'],
      [404, anError('not_found'), 'absent'],
      [429, html, 'rate_limited'],
      [401, anError('unauthorized'), 'credentials_refused'],
      [403, anError('forbidden'), 'credentials_refused'],
      [403, anError('maintenance'), 'lasting'],
      [422, anError('incorrect_zone_mode'), 'lasting'],
      [500, anError('server_error'), 'lasting'],
      [502, anError('bad_gateway'), 'passing'],
      [503, anError('unavailable'), 'passing'],
      [504, anError('timeout'), 'passing'],
      [200, html, 'passing'],
      [200, '{"zone": ', 'passing'],
      [302, anError('moved'), 'passing'],
      [404, html, 'passing'],
      [404, '{"message": "no route"}', 'passing'],
      [503, html, 'passing'],
    ])('answered %i %j is %s', (status, body, kind) => {
      expect(classifyRead(answered(status, body)).kind).toBe(kind);
    });

    it('never quotes an error code of unknown format, because reasons are logged', () => {
      expect(classifyRead(answered(500, anError('Bearer abc')))).toEqual({
        kind: 'lasting',
        reason: '500 with an odd code',
      });
    });
  });
});

describe('spans', () => {
  describe('sliceMember', () => {
    it.each([
      [
        'an object with its inner whitespace',
        '{"rrset": { "ttl" : 1.0e2 ,\n"x":[ ] } , "action":{}}',
        'rrset',
        '{ "ttl" : 1.0e2 ,\n"x":[ ] }',
      ],
      ['an array', ' {"a":[1 , 2 ]}\n', 'a', '[1 , 2 ]'],
      ['a string with escapes as they were written', '{"a":"\\u0041\\/ }],{"}', 'a', '"\\u0041\\/ }],{"'],
      ['a number beyond what JavaScript can hold', '{"a": 12345678901234567890.10 }', 'a', '12345678901234567890.10'],
      ['a literal', '{"a" : null}', 'a', 'null'],
      ['the last of a repeated member, as JSON.parse does', '{"a":1,"a":2}', 'a', '2'],
      ['a member whose key was escaped', '{"\\u0061":1}', 'a', '1'],
      ['a member called __proto__', '{"__proto__":{"a":1}}', '__proto__', '{"a":1}'],
    ])('returns %s', (_what, text, key, span) => {
      const slice = sliceMember(text, key);

      expect(slice).toBe(span);
    });

    it.each([
      ['an absent member', '{"b":1}', 'a'],
      ['a member deeper inside', '{"b":{"a":1}}', 'a'],
      ['a key that stands as a value', '{"b":"a"}', 'a'],
      ['an empty object', '{}', 'a'],
      ['an array', '[{"a":1}]', 'a'],
      ['a bare value', '"a"', 'a'],
      ['a comment, which JSON does not have', '{/* */"a":1}', 'a'],
      ['a trailing comma', '{"a":1,}', 'a'],
      ['half a body', '{"a":1', 'a'],
      ['an empty text', '', 'a'],
      ['a byte order mark', '\uFEFF{"a":1}', 'a'],
    ])('returns null for %s', (_what, text, key) => {
      const slice = sliceMember(text, key);

      expect(slice).toBeNull();
    });
  });

  describe('isShallow', () => {
    it.each([
      [nestingMax, true],
      [nestingMax + 1, false],
      [500_000, false],
    ])('answers for %i levels: %s', (levels, shallow) => {
      const text = '['.repeat(levels) + ']'.repeat(levels);

      expect(isShallow(text)).toBe(shallow);
    });
  });
});

describe('slices of any text', () => {
  const indents = fc.constantFrom(0, 1, 4, '\t');
  const jsonText = fc
    .tuple(fc.jsonValue({ maxDepth: 4 }), indents)
    .map(([value, indent]) => JSON.stringify(value, null, indent));
  const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

  it('return each member of an object with its exact text', () => {
    const members = fc.uniqueArray(fc.tuple(fc.string(), jsonText, space), { selector: ([key]) => key });

    fc.assert(
      fc.property(members, (entries) => {
        const rendered = entries.map(([key, text, gap]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${text}${gap}`);
        const object = `{${rendered.join(',')}}`;

        for (const [key, text] of entries) expect(sliceMember(object, key)).toBe(text);
      }),
    );
  });

  it('return each element of an array with its exact text', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(jsonText, space)), (entries) => {
        const array = `[${entries.map(([text, gap]) => gap + text + gap).join(',')}]`;

        expect(sliceElements(`{"meta": {}, "rrsets": ${array}}`, 'rrsets')).toEqual(entries.map(([text]) => text));
      }),
    );
  });

  it('never throw for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.json().map((json) => json.slice(1)),
        ),
        fc.string(),
        (text, key) => {
          sliceMember(text, key);
          sliceElements(text, key);
        },
      ),
    );
  });
});
