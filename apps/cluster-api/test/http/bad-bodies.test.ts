import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());

const put = (body: string | Buffer, type: string | null = 'application/json') => {
  const sent = test.api.as(test.acme.admin).put(test.acme.path('/connections/main/'));
  if (type !== null) sent.set('Content-Type', type);
  // supertest would encode a string as JSON again.
  return sent.serialize((sentBody: unknown) => sentBody as string).send(body);
};
const valid = JSON.stringify({ spec: { provider: 'hcloud', token: 't' } });

describe('a body', () => {
  it.each([
    ['no bytes', ''],
    ['broken JSON', '{broken'],
    ['two values', '{}{}'],
    ['a comment', `/* x */ ${valid}`],
    ['a byte order mark', `\ufeff${valid}`],
    ['single quotes', "{'spec': 1}"],
    ['an array', '[]'],
    ['a string', '"spec"'],
    ['a number', '7'],
    ['null', 'null'],
    ['NaN', 'NaN'],
    ['a member twice', '{"spec":{"provider":"hcloud","token":"t","token":"u"}}'],
  ])('of %s is invalid JSON', async (_what, body) => {
    expect((await put(body).expect(400)).body.code).toBe('invalid_json');
  });

  it('that is not UTF-8 is invalid JSON', async () => {
    const latin = Buffer.from('{"spec": {"name": "M\u00fcller"}}', 'latin1');

    expect((await put(latin).expect(400)).body.code).toBe('invalid_json');
  });

  it.each([
    ['nested 17 deep', `{"spec":${'['.repeat(16)}${']'.repeat(16)}}`, 'is nested too deep'],
    ['nested 25,000 deep', `{"spec":${'{"a":'.repeat(25_000)}1${'}'.repeat(25_000)}}`, 'is nested too deep'],
    ['of 100,000 open brackets', '['.repeat(100_000), 'is nested too deep'],
    [
      'with 2,000 elements in its members',
      JSON.stringify({ spec: Array(2_000).fill({}) }),
      'has too many members and elements',
    ],
    ['with 80,000 elements', `{"spec":[${'{},'.repeat(80_000)}{}]}`, 'has too many members and elements'],
  ])('%s is refused before it is parsed', async (_what, text, message) => {
    const { body } = await put(text).expect(422);

    const code = 'validation_failed';
    const error = { pointer: '', code, message, detail: `The request ${message}.` };
    expect([body.code, body.errors]).toEqual([code, [error]]);
  });

  it.each([
    ['none', null],
    ['a form', 'application/x-www-form-urlencoded'],
    ['text', 'text/plain'],
    ['a type that starts like JSON', 'application/jsonx'],
    ['JSON in another charset', 'application/json; charset=utf-16'],
    ['two types', 'application/json, text/plain'],
  ])('of type %s is not parsed', async (_what, type) => {
    expect((await put(Buffer.from(valid), type).expect(415)).body.code).toBe('unsupported_media_type');
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'of type %s is parsed',
    async (type) => {
      expect((await put(valid, type)).status).toBeLessThan(300);
    },
  );

  it.each<[string, unknown, string]>([
    ['no specification', {}, '/spec'],
    ['a field next to it', { spec: { provider: 'hcloud', token: 't' }, note: 'Connection' }, '/note'],
    ['an unknown field', { spec: { provider: 'hcloud', token: 't', tokn: 'x' } }, '/spec/tokn'],
    ['another type', { spec: { provider: 'hcloud', token: 7 } }, '/spec/token'],
    [
      'a number beyond the range of a double',
      '{"spec":{"provider":"hcloud","token":"t","providerConfig":{"n":1e999}}}',
      '/spec/providerConfig/n',
    ],
    [
      'a member called __proto__',
      '{"spec":{"provider":"hcloud","token":"t","__proto__":{"name":"x"}}}',
      '/spec/__proto__',
    ],
    ['a slash in a name', { spec: { provider: 'hcloud', token: 't', 'a/b~c': 1 } }, '/spec/a~1b~0c'],
  ])('with %s is refused with a pointer', async (_what, body, pointer) => {
    const { body: problem } = await put(typeof body === 'string' ? body : JSON.stringify(body)).expect(422);

    expect(problem.code).toBe('validation_failed');
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
  });

  it.each([
    ['gzip', gzipSync(valid)],
    ['gzip', Buffer.from(valid)],
    ['br', Buffer.from(valid)],
    ['zstd', Buffer.from(valid)],
    ['gzip, gzip', gzipSync(gzipSync(valid))],
    ['garbage', Buffer.from(valid)],
  ])('with Content-Encoding %s is not parsed', async (encoding, bytes) => {
    const { body } = await put(bytes).set('Content-Encoding', encoding).expect(415);

    expect(body.code).toBe('unsupported_media_type');
  });

  it('with a thousand wrong fields gets at most 20 errors', async () => {
    const wrong = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`x${at}`, 1]));

    const { body } = await put(JSON.stringify({ spec: wrong })).expect(422);

    expect(body.errors.length).toBeLessThanOrEqual(20);
  });

  it('is not repeated in the problem, because it may contain a secret', async () => {
    const secret = 'very-secret-token';
    for (const text of [`{"spec": {"token": "${secret}\n"}}`, `{"spec": {"token": "${secret}"`, `"${secret}"`]) {
      expect((await put(text)).text).not.toContain(secret);
    }
  });
});
