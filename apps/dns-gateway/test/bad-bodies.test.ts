import { gzipSync } from 'node:zlib';
import { dnsBodyLimits } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal, fieldsOf } from './support/expect-refusal.js';
import { type CallOptions, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const create = (body: unknown, headers?: CallOptions['headers']) => () =>
  gateway.call('POST', `/zones/${ZONE}/rrsets`, { body, ...(headers === undefined ? {} : { headers }) });
const records = [{ value: '192.0.2.1' }];
const aCreation = (change: object = {}) => ({ name: 'api.acme', type: 'A', records, ...change });
const values = (count: number) => Array.from({ length: count }, (_, index) => ({ value: `192.0.2.${index}` }));

/** Every write with a body, and a valid body for it. */
const writes: [string, string, string, object][] = [
  ['createRrset', 'POST', '', aCreation()],
  ['updateRrset', 'PUT', '/api.acme/A', { labels: {} }],
  ['setRecords', 'POST', '/api.acme/A/actions/set_records', { records }],
  ['addRecords', 'POST', '/api.acme/A/actions/add_records', { records }],
  ['removeRecords', 'POST', '/api.acme/A/actions/remove_records', { records }],
  ['changeTtl', 'POST', '/api.acme/A/actions/change_ttl', { ttl: 300 }],
];

describe.each(writes)('the body of %s', (_operation, method, below, right) => {
  const send =
    (body: unknown, headers: Record<string, string> = {}) =>
    () =>
      gateway.call(method, `/zones/${ZONE}/rrsets${below}`, { body, headers });

  it.each([
    ['nothing', ''],
    ['broken JSON', '{"records":'],
    ['JSON with a trailing comma', '{"a":1,}'],
    ['two objects', '{}{}'],
    ['an array', '[]'],
    ['an array of valid bodies', JSON.stringify([right])],
    ['null', 'null'],
    ['a string', '"{}"'],
    ['a number', '42'],
    ['true', 'true'],
    ['a form', 'name=api.acme&type=A'],
    ['XML', '<rrset/>'],
    ['a byte order mark before it', `\ufeff${JSON.stringify(right)}`],
    ['invalid UTF-8', Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])],
    ['UTF-16', Buffer.from(JSON.stringify(right), 'utf16le')],
    ['a raw NUL', '{"x":"\0"}'],
    ['a duplicate member', JSON.stringify(right).replace('{', '{"x":1,"x":2,')],
    ['a member in another case', JSON.stringify(right).replace('{', '{"Records":[],')],
    ['arrays nested 100,000 deep', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['objects nested 100,000 deep', `${'{"x":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['arrays nested 16 deep in a member', `{"x":${'['.repeat(16)}${']'.repeat(16)}}`],
    ['4,001 members and elements', `{"x":[${'1,'.repeat(3_999)}1]}`],
    ['an unterminated array', '['.repeat(500_000)],
  ])('is refused for %s', async (_what, body) => {
    await expectRefusal(gateway, send(body), 400, 'invalid_input');
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/json-patch+json',
    'application/problem+json',
    'garbage',
    '*/*',
  ])('is refused as %s', async (type) => {
    await expectRefusal(gateway, send(JSON.stringify(right), { 'Content-Type': type }), 400, 'invalid_input');
  });

  it('is refused over 1 MiB', async () => {
    const padding = 'x'.repeat(dnsBodyLimits.recordSets.bytes);
    const large = Buffer.from(JSON.stringify({ ...right, padding }));

    await expectRefusal(gateway, send(large), 413, 'payload_too_large');
  });

  it('is refused in any encoding without being read', async () => {
    const body = Buffer.from(JSON.stringify(right));

    for (const [encoding, bytes] of [
      ['gzip', body],
      ['gzip', gzipSync(body)],
      ['deflate', body],
      ['br', body],
      ['zstd', body],
      ['gzip, gzip', gzipSync(gzipSync(body))],
      ['garbage', body],
    ] as const) {
      await expectRefusal(gateway, send(bytes, { 'Content-Encoding': encoding }), 415, 'unsupported_media_type');
    }
  });
});

describe('a body just within 1 MiB', () => {
  it('is validated by its content', async () => {
    const empty = JSON.stringify({ ...aCreation({ records: [] }), padding: '' });
    const padding = 'x'.repeat(dnsBodyLimits.recordSets.bytes - empty.length);

    const answer = await expectRefusal(
      gateway,
      create({ ...aCreation({ records: [] }), padding }),
      400,
      'invalid_input',
    );

    expect(fieldsOf(answer)).toEqual(['records']);
  });
});

describe('a creation', () => {
  it.each([
    ['without a name', { name: undefined }, 'name'],
    ['with a name that is a number', { name: 7 }, 'name'],
    ['with a null name', { name: null }, 'name'],
    ['without a type', { type: undefined }, 'type'],
    ['with a list of types', { type: ['A'] }, 'type'],
    ['without records', { records: undefined }, 'records'],
    ['with null records', { records: null }, 'records'],
    ['with empty records', { records: [] }, 'records'],
    ['with records as an object', { records: { 0: { value: 'x' } } }, 'records'],
    ['with records as texts', { records: ['192.0.2.1'] }, 'records[0]'],
    ['with a record without value', { records: [{}] }, 'records[0].value'],
    ['with a null value', { records: [{ value: null }] }, 'records[0].value'],
    ['with an empty value', { records: [{ value: '' }] }, 'records[0].value'],
    ['with a value of 4,097 characters', { records: [{ value: 'x'.repeat(4_097) }] }, 'records[0].value'],
    [
      'with a comment of 1,025 characters',
      { records: [{ value: 'x', comment: 'x'.repeat(1_025) }] },
      'records[0].comment',
    ],
    ['with 1,001 records', { records: Array.from({ length: 1_001 }, (_, at) => ({ value: `${at}` })) }, 'records'],
    [
      'with 101 labels',
      { labels: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`l${at}`, ''])) },
      'labels',
    ],
    ['with a label of 64 characters', { labels: { env: 'x'.repeat(64) } }, 'labels.env'],
    ['with a label whose name has 318 characters', { labels: { ['x'.repeat(318)]: '' } }, 'labels'],
    ['with a comment that is a number', { records: [{ value: 'x', comment: 1 }] }, 'records[0].comment'],
    ['with a ttl as text', { ttl: '300' }, 'ttl'],
    ['with a ttl as a fraction', { ttl: 300.5 }, 'ttl'],
    ['with a negative ttl', { ttl: -1 }, 'ttl'],
    ['with a ttl of true', { ttl: true }, 'ttl'],
    ['with a ttl as a list', { ttl: [300] }, 'ttl'],
    ['with labels as text', { labels: 'env=prod' }, 'labels'],
    ['with a label that is a number', { labels: { env: 1 } }, 'labels.env'],
  ])('%s is refused with the name of the field', async (_what, change, field) => {
    const answer = await expectRefusal(gateway, create(aCreation(change)), 400, 'invalid_input');

    expect(fieldsOf(answer)).toContain(field);
  });

  it('is refused with all its invalid fields', async () => {
    const answer = await expectRefusal(gateway, create({ ttl: 'x', records: [] }), 400, 'invalid_input');

    expect(fieldsOf(answer).sort()).toEqual(['name', 'records', 'ttl', 'type']);
  });

  it('with 51 records is refused as too many for a set', async () => {
    const answer = await expectRefusal(
      gateway,
      create(aCreation({ records: values(51) })),
      403,
      'resource_limit_exceeded',
    );

    expect(answer.json.error.details).toEqual({ limits: [{ name: 'records_per_rrset' }] });
  });

  it('with 80,000 invalid records gets an answer of limited size', async () => {
    const many = Array.from({ length: 80_000 }, () => ({}));

    const answer = await expectRefusal(gateway, create(aCreation({ records: many })), 400, 'invalid_input');

    expect(answer.text.length).toBeLessThan(10_000);
  });

  it('is checked in the order body, name, quota', async () => {
    await expectRefusal(gateway, create({ name: 'globex', type: 'A', records: [] }), 400, 'invalid_input');
    await expectRefusal(gateway, create({ name: 'globex', type: 'A', records: values(51) }), 403, 'forbidden');
  });

  it('is never quoted in our messages', async () => {
    const secret = 'x'.repeat(5_000);

    const answer = await expectRefusal(
      gateway,
      create(aCreation({ records: [{ value: secret }] })),
      400,
      'invalid_input',
    );

    expect(answer.text).not.toContain('xxxx');
  });
});
