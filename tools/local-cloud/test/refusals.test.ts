import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { records, startTestCloud, type TestCloud, TOKEN } from './start-test-cloud.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
  cloud.admin.putRrset('example.net', 'app', 'A', { records: records('192.0.2.1') });
});
afterAll(() => cloud.close());

const sets = '/zones/example.net/rrsets';
const aSet = { name: 'new', type: 'A', records: records('192.0.2.1') };
const field = (name: string, message: string) => ({ fields: [{ name, messages: [message] }] });

describe('refusals', () => {
  it.each<[string, string, unknown, number, string, string, unknown]>([
    ['POST', sets, '{', 400, 'json_error', 'the body is not valid JSON', null],
    ['POST', sets, undefined, 400, 'json_error', 'the body is not valid JSON', null],
    ['POST', sets, [], 400, 'json_error', 'the body must be a JSON object', null],
    ['GET', '/zones/%zz', undefined, 400, 'json_error', 'the request cannot be read', null],
    ['GET', '/volumes', undefined, 404, 'not_found', 'path not found', null],
    ['GET', `${sets}/app/A/actions`, undefined, 404, 'not_found', 'path not found', null],
    ['POST', `${sets}/app/A/actions/rename`, {}, 404, 'not_found', 'path not found', null],
    ['GET', `${sets}/gone/A`, undefined, 404, 'not_found', 'rrset not found', null],
    ['GET', `${sets}/app/a`, undefined, 404, 'not_found', 'rrset not found', null],
    ['DELETE', `${sets}/gone/A`, undefined, 404, 'not_found', 'rrset not found', null],
    ['PUT', `${sets}/gone/A`, {}, 404, 'not_found', 'rrset not found', null],
    ['POST', '/zones/9/rrsets', aSet, 404, 'not_found', 'zone not found', null],
    ['GET', '/actions/1', undefined, 404, 'not_found', 'action not found', null],
    ['GET', '/actions/x', undefined, 404, 'not_found', 'action not found', null],
    ['POST', '/zones', {}, 405, 'method_not_allowed', 'method not allowed', null],
    ['PATCH', `${sets}/app/A`, {}, 405, 'method_not_allowed', 'method not allowed', null],
    [
      'POST',
      sets,
      { ...aSet, name: 'app' },
      409,
      'uniqueness_error',
      'RRSet already exists',
      { fields: [{ name: 'name' }] },
    ],
    [
      'POST',
      sets,
      { ...aSet, name: 'www.example.net' },
      422,
      'invalid_input',
      'must not end with the name of the zone',
      field('rrsets[0].name', 'must not end with the name of the zone'),
    ],
    [
      'POST',
      sets,
      { ...aSet, records: records('192.0.2.300') },
      422,
      'invalid_input',
      "invalid value '192.0.2.300'",
      field('rrsets[0].records[0].value', "invalid value '192.0.2.300'"),
    ],
    [
      'POST',
      `${sets}/app/A/actions/add_records`,
      { records: records('192.0.2.1') },
      422,
      'invalid_input',
      "duplicate value '192.0.2.1'",
      field('records[0].records[0].value', "duplicate value '192.0.2.1'"),
    ],
    [
      'POST',
      `${sets}/app/CNAME/actions/add_records`,
      { records: records('www') },
      422,
      'invalid_input',
      "CNAME cannot coexist with other types at 'app'",
      field('rrsets[0].name', "CNAME cannot coexist with other types at 'app'"),
    ],
    ['PUT', `${sets}/app/A`, { records: [] }, 422, 'invalid_input', "can't update records with this endpoint", null],
    [
      'GET',
      `${sets}?page=0`,
      undefined,
      422,
      'invalid_input',
      'must be a positive integer',
      field('page', 'must be a positive integer'),
    ],
  ])('%s %s %j: %i %s', async (method, path, body, status, code, message, details) => {
    const answer = await cloud.call(method, path, body);

    expect([answer.status, answer.body]).toEqual([status, { error: { code, message, details } }]);
  });

  it('list the methods of a known path', async () => {
    const { headers } = await cloud.call('PATCH', `${sets}/app/A`);

    expect(headers.get('Allow')).toBe('GET, PUT, DELETE');
  });

  it.each([
    [{}, 'token is required'],
    [{ Authorization: TOKEN }, 'token is required'],
    [{ Authorization: `Basic ${TOKEN}` }, 'token is required'],
    [{ Authorization: 'Bearer wrong' }, 'the token you have provided is invalid'],
  ])('of requests with %j say: %s', async (headers, message) => {
    const { status, body } = await cloud.call('GET', '/zones', undefined, headers as Record<string, string>);

    expect([status, body]).toEqual([401, { error: { code: 'unauthorized', message, details: null } }]);
  });

  it('change nothing', () => {
    expect(cloud.admin.writes()).toEqual([]);
  });
});
