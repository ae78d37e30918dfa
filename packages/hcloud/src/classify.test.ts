import { describe, expect, it } from '@jest/globals';
import { classifyRead, classifyWrite } from './calls.js';
import type { Exchange } from './exchange.js';

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
    [400, 'json_error'],
    [403, 'forbidden'],
    [403, 'maintenance'],
    [403, 'resource_limit_exceeded'],
    [403, 'a_code_of_tomorrow'],
    [404, 'not_found'],
    [405, 'method_not_allowed'],
    [409, 'conflict'],
    [409, 'uniqueness_error'],
    [410, 'deprecated_api_endpoint'],
    [412, 'resource_unavailable'],
    [422, 'invalid_input'],
    [422, 'forbidden'],
    [423, 'locked'],
    [423, 'protected'],
  ])('answered %i %s is refused, and keeps its body unchanged', (status, code) => {
    const body = anError(code);

    expect(classifyWrite(answered(status, body))).toEqual({ kind: 'refused', status, code, body });
  });

  it.each([
    [500, 'server_error'],
    [502, 'bad_gateway'],
    [503, 'unavailable'],
    [504, 'timeout'],
  ])('answered %i %s has failed, and keeps its body unchanged', (status, code) => {
    const body = anError(code);

    expect(classifyWrite(answered(status, body))).toEqual({ kind: 'failed', status, code, body });
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
    ['201 with a string', 201, '"ok"'],
    ['201 with bytes that are no UTF-8', 201, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['201 with a byte order mark', 201, '\uFEFF{}'],
    ['201 with a comment', 201, '{/* */}'],
    ['201 nested absurdly', 201, deep],
    ['301', 301, anError('moved')],
    ['304', 304, ''],
    ['401 with HTML', 401, html],
    ['403 with HTML', 403, html],
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
