import { describe, expect, it } from '@jest/globals';
import type { CommandKind } from './parse-command.js';
import { parseCommand, parseIdentity, parseJsonObject } from './parse-command.js';

const one = [{ value: '192.0.2.1' }];
const many = (count: number) => Array.from({ length: count }, (_, index) => ({ value: `"${index}"` }));

/** The field and message of a refusal, or only the message if it has no fields. */
function refusalOf(parse: () => unknown): unknown {
  try {
    parse();
  } catch (error) {
    const { status, code, message, details } = error as {
      status: number;
      code: string;
      message: string;
      details: unknown;
    };
    const fields = (details as { fields?: { name: string }[] } | null)?.fields;
    return [status, code, fields?.[0]?.name ?? null, message];
  }
  return 'accepted';
}

const range = 'must be null or an integer between 60 and 2147483647';
const missing = 'missing data for required field';

describe('bodies of writes', () => {
  it.each<[CommandKind, object, string, string]>([
    ['create', {}, 'rrsets[0].records', missing],
    ['create', { records: [] }, 'rrsets[0].records', 'must not be empty'],
    ['create', { records: {} }, 'rrsets[0].records', 'must be an array'],
    ['create', { records: ['x'] }, 'rrsets[0].records[0]', 'must be an object'],
    ['create', { records: [{}] }, 'rrsets[0].records[0].value', missing],
    ['create', { records: [{ value: 1 }] }, 'rrsets[0].records[0].value', 'must be a string'],
    ['create', { records: [{ value: 'a', comment: 1 }] }, 'rrsets[0].records[0].comment', 'must be a string'],
    ['create', { records: [...one, ...one] }, 'rrsets[0].records[1].value', "duplicate value '192.0.2.1'"],
    ['create', { records: one, ttl: 59 }, 'rrsets[0].ttl', range],
    ['create', { records: one, ttl: 2147483648 }, 'rrsets[0].ttl', range],
    ['create', { records: one, ttl: '300' }, 'rrsets[0].ttl', range],
    ['create', { records: one, ttl: 60.5 }, 'rrsets[0].ttl', range],
    ['create', { records: one, labels: null }, 'rrsets[0].labels', 'must be an object of strings'],
    ['create', { records: one, labels: { '-a': 'b' } }, 'rrsets[0].labels', "invalid label key '-a'"],
    ['create', { records: one, labels: { a: 1 } }, 'rrsets[0].labels', "invalid value of label 'a'"],
    ['set_records', { records: many(51) }, 'records', 'must hold at most 50 records'],
    [
      'add_records',
      { records: [...many(2), ...one, ...one] },
      'records[0].records[3].value',
      "duplicate value '192.0.2.1'",
    ],
    ['add_records', { records: one, ttl: 1 }, 'ttl', range],
    ['remove_records', { records: [] }, 'records', 'must not be empty'],
    ['change_ttl', {}, 'ttl', missing],
    ['change_ttl', { ttl: 0 }, 'ttl', range],
    ['put_labels', { labels: [] }, 'labels', 'must be an object of strings'],
  ])('%s %j is refused at %s', (kind, body, field, message) => {
    const refusal = refusalOf(() => parseCommand(kind, body as Record<string, unknown>));

    expect(refusal).toEqual([422, 'invalid_input', field, message]);
  });

  it('of PUT are refused without details if they contain records', () => {
    const refusal = refusalOf(() => parseCommand('put_labels', { records: one }));

    expect(refusal).toEqual([422, 'invalid_input', null, "can't update records with this endpoint"]);
  });

  it('may contain null for optional values, and unknown fields', () => {
    const body = { ttl: null, records: [{ value: '192.0.2.1', comment: null, colour: 'blue' }], colour: 'red' };

    const command = parseCommand('create', body);

    expect(command).toEqual({ kind: 'create', ttl: null, labels: {}, records: [{ value: '192.0.2.1', comment: '' }] });
  });

  it.each([60, 2147483647, null])('accept a TTL of %p', (ttl) => {
    const command = parseCommand('change_ttl', { ttl });

    expect(command).toEqual({ kind: 'change_ttl', ttl });
  });

  it('accept up to 50 records in an action and more in a creation', () => {
    const kinds = [parseCommand('add_records', { records: many(50) }), parseCommand('create', { records: many(51) })];

    expect(kinds.map((command) => ('records' in command ? command.records.length : 0))).toEqual([50, 51]);
  });

  it.each(['', '{', '[]', '"x"', 'null', '1'])('are refused if they are not JSON objects: %p', (text) => {
    expect(refusalOf(() => parseJsonObject(text))).toEqual([400, 'json_error', null, expect.any(String)]);
  });

  it.each([
    [{ type: 'A' }, 'rrsets[0].name', missing],
    [{ name: 1, type: 'A' }, 'rrsets[0].name', 'must be a string'],
    [{ name: 'a' }, 'rrsets[0].type', missing],
    [{ name: 'a', type: 'a' }, 'rrsets[0].type', "invalid type 'a'"],
    [{ name: 'a', type: 'SPF' }, 'rrsets[0].type', "invalid type 'SPF'"],
  ])('of creations name the set: %j is refused', (body, field, message) => {
    expect(refusalOf(() => parseIdentity(body))).toEqual([422, 'invalid_input', field, message]);
  });
});
