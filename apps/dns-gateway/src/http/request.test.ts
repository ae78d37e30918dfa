import { findJsonFault, RequestFault } from '@corral/http-api';
import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import fc from 'fast-check';
import { DnsError } from '../dns-error.js';
import {
  fitsLabels,
  isRespelled,
  jsonObjectBody,
  type Labels,
  paginationOf,
  parseActionIds,
  parseActionQuery,
  parseLabelSelector,
  parsePage,
  parseRrsetQuery,
} from './request.js';

const query = (text: string) => new URLSearchParams(text);

function refusalOf(act: () => unknown): DnsError {
  try {
    act();
  } catch (error) {
    if (error instanceof DnsError) return error;
    throw error;
  }
  throw new Error('Nothing was refused');
}

const fieldOf = ({ code, details }: DnsError) => [
  code,
  details !== null && 'fields' in details && details.fields[0]?.name,
];

describe('page and per_page', () => {
  it.each([
    ['', { page: 1, perPage: 25 }],
    ['per_page=1', { page: 1, perPage: 1 }],
    ['per_page=51', { page: 1, perPage: 50 }],
    ['per_page=100&page=2', { page: 2, perPage: 50 }],
    ['page=9007199254740991', { page: 9_007_199_254_740_991, perPage: 25 }],
  ])('%j is read as %j', (text, expected) => {
    expect(parsePage(query(text))).toEqual(expected);
  });

  it.each(['0', '1.5', '', ' 1', '01', '0x1', '9007199254740992', '１', '1\0'])(
    'with the value %j are refused by name',
    (text) => {
      for (const key of ['page', 'per_page']) {
        const refusal = refusalOf(() => parsePage(new URLSearchParams({ [key]: text })));
        expect(fieldOf(refusal)).toEqual(['invalid_input', key]);
      }
    },
  );
});

describe('the query of a list of record sets', () => {
  it('keeps every repeated key', () => {
    const parsed = parseRrsetQuery(query('type=A&type=TXT&sort=name:desc&sort=id&name=api.acme'));

    expect(parsed).toMatchObject({ name: 'api.acme', types: ['A', 'TXT'], labels: null });
    expect(parsed.sort).toEqual([
      { by: 'name', descending: true },
      { by: 'id', descending: false },
    ]);
  });

  it('ignores unknown keys', () => {
    expect(parseRrsetQuery(query('owner=globex&team=globex'))).toEqual(parseRrsetQuery(query('')));
  });
});

describe('ids of actions', () => {
  it('are read in the given order, next to other parameters', () => {
    expect(parseActionIds(query('id=3&page=1&id=1&sort=status&sort=id&id=2'))).toEqual([3, 1, 2]);
  });

  it.each([
    ['no ids', ''],
    ['101 ids', Array.from({ length: 101 }, (_, index) => `id=${index + 1}`).join('&')],
    ['a comma-separated list', 'id=1,2'],
    ['one invalid id among valid ones', 'id=1&id=0'],
  ])('are refused when there are %s', (_what, text) => {
    expect(fieldOf(refusalOf(() => parseActionIds(query(text))))).toEqual(['invalid_input', 'id']);
  });
});

describe('pagination', () => {
  const perPage = fc.integer({ min: 1, max: 50 });
  const total = fc.nat({ max: 500 });

  it('partitions the list: the pages from 1 to last_page contain every entry once', () => {
    fc.assert(
      fc.property(perPage, total, (size, entries) => {
        const { last_page } = paginationOf({ page: 1, perPage: size }, entries);
        let counted = 0;
        for (let page = 1; page <= last_page; page += 1) {
          const onPage = Math.min(size, entries - (page - 1) * size);
          expect(onPage).toBeGreaterThan(entries === 0 ? -1 : 0);
          counted += onPage;
        }
        expect(counted).toBe(entries);
      }),
    );
  });

  it('has exactly six keys, and integers where clients compare them, on any page', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), perPage, total, (page, size, entries) => {
        const pagination = paginationOf({ page, perPage: size }, entries);
        const keys = ['page', 'per_page', 'previous_page', 'next_page', 'last_page', 'total_entries'];
        expect(Object.keys(pagination)).toEqual(keys);
        expect(pagination).toMatchObject({ page, per_page: size, total_entries: entries });
        expect(pagination.last_page).toBeGreaterThanOrEqual(1);
        expect(Number.isSafeInteger(pagination.last_page)).toBe(true);
        if (pagination.next_page !== null) expect(pagination.next_page).toBeLessThanOrEqual(pagination.last_page);
        if (pagination.previous_page !== null)
          expect(pagination.previous_page).toBeLessThanOrEqual(pagination.last_page);
        if (page === 1) expect(pagination.previous_page).toBeNull();
      }),
    );
  });
});

describe('a refused parameter', () => {
  it.each([
    ['page=0', 'page', 'must be one whole number of at least 1'],
    ['per_page=1&per_page=2', 'per_page', 'must be one whole number of at least 1'],
    ['sort=ttl', 'sort', 'must be id, name or created, optionally followed by :asc or :desc'],
    ['sort=id&sort=ID', 'sort', 'must be id, name or created, optionally followed by :asc or :desc'],
    ['sort=id:asc:desc', 'sort', 'must be id, name or created, optionally followed by :asc or :desc'],
    ['label_selector=a%3D%3D%3Db', 'label_selector', 'must be a selector such as env=prod,tier!=cache'],
  ])('in a list of record sets, as in %s, is named with a sentence about what it must be', (text, name, message) => {
    const { details } = refusalOf(() => parseRrsetQuery(query(text)));
    expect(details).toEqual({ fields: [{ name, messages: [message] }] });
  });

  it.each([
    ['status=done', 'status', 'must be one of running, success, error'],
    ['sort=name', 'sort', 'must be id, command, status, started or finished, optionally followed by :asc or :desc'],
  ])('in a list of actions, as in %s, is named with a sentence about what it must be', (text, name, message) => {
    const { details } = refusalOf(() => parseActionQuery(query(text)));
    expect(details).toEqual({ fields: [{ name, messages: [message] }] });
  });
});

const labels = { env: 'prod', 'example.com/tier': 'web', empty: '' };
const matches = (selector: string, of: Labels = labels) => {
  const requirements = parseLabelSelector(selector);
  return requirements && fitsLabels(requirements, of);
};

describe('a label selector', () => {
  it.each([
    ['env', true],
    ['stage', false],
    ['!stage', true],
    ['!env', false],
    ['env=prod', true],
    [' env=prod ', true],
    ['example.com/tier=web', true],
    ['env in (test, prod)', true],
    ['empty in ()', true],
    ['env=prod,!stage', true],
    ['notin=x', false],
    ['toString', false],
    ['__proto__!=x', undefined],
  ])('%j matching the labels is %j', (selector, expected) => {
    expect(matches(selector)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    ',env',
    '!!env',
    'env===prod',
    'env in',
    'env in (a',
    'env in (a b)',
    'env IN (a)',
    'env=pr od',
    'env\0',
    'x'.repeat(2_049),
  ])('%j is not a valid selector', (text) => {
    expect(parseLabelSelector(text)).toBeUndefined();
  });

  it('follows the grammar for any combination and spacing', () => {
    const keys = ['a', 'b', 'x/c'];
    const values = ['', '1', 'two'];
    const key = fc.constantFrom(...keys);
    const value = fc.constantFrom(...values);
    const space = fc.constantFrom('', ' ', '  ');
    const present = (of: Labels, name: string) => Object.keys(of).includes(name);
    type Requirement = { text: string; holds: (of: Labels) => boolean };
    const requirement: fc.Arbitrary<Requirement> = fc.oneof(
      key.map((k) => ({ text: k, holds: (of: Labels) => present(of, k) })),
      fc.tuple(key, space).map(([k, s]) => ({ text: `!${s}${k}`, holds: (of: Labels) => !present(of, k) })),
      fc.tuple(key, value, space, fc.constantFrom('=', '==', '!=')).map(([k, v, s, operator]) => ({
        text: `${k}${s}${operator}${s}${v}`,
        holds: (of: Labels) => (of[k] === v) !== (operator === '!='),
      })),
      fc
        .tuple(key, fc.array(value, { minLength: 1, maxLength: 3 }), space, fc.constantFrom('in', 'notin'))
        .map(([k, all, s, operator]) => ({
          text: `${k} ${operator}${s}(${all.join(`${s},${s}`)})`,
          holds: (of: Labels) => (present(of, k) && all.includes(of[k] as string)) === (operator === 'in'),
        })),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(space, requirement, space), { minLength: 1, maxLength: 4 }),
        fc.dictionary(key, value),
        (parts, of) => {
          const selector = parts.map(([before, { text }, after]) => before + text + after).join(',');
          expect(matches(selector, of)).toBe(parts.every(([, { holds }]) => holds(of)));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('never throws and always terminates for any text', () => {
    // A backtracking expression would not finish one of these within the test timeout.
    const hostile = fc
      .tuple(fc.constantFrom('a', 'a.', '(', ',', 'a,', 'a in (', ' ', '!', '=', 'a/-'), fc.nat({ max: 2_048 }))
      .map(([part, times]) => part.repeat(times).slice(0, 2_048));
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 200 })), (text) => {
        matches(text);
      }),
    );
  });
});

const requestOf = (body: unknown, type?: string) =>
  ({ body, headers: type === undefined ? {} : { 'content-type': type } }) as unknown as Request;
const read = (body: string | Uint8Array, type?: string) => jsonObjectBody(requestOf(Buffer.from(body as string), type));

/** The member that makes a text one that is refused. */
function findAmbiguousMember(text: string): string | null {
  const fault = findJsonFault(text, { depth: 1_000, entries: 1_000_000 }, isRespelled);
  return fault?.kind === 'ambiguous' ? fault.member : null;
}

describe('the body of a write', () => {
  it('is handed on as the very bytes that came, beside its value', () => {
    const text = '{ "ttl" : 3e2,\n"later":{"x":[1.0]} }';

    const { bytes, value } = read(text, 'application/json');

    expect(bytes.toString()).toBe(text);
    expect(value).toEqual({ ttl: 300, later: { x: [1] } });
  });

  it.each([
    undefined,
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json ;x',
  ])('may come with the content type %j', (type) => {
    expect(read('{}', type).value).toEqual({});
  });

  it.each(['', 'text/plain', 'application/jsonp', '*/*'])('may not come with the content type %j', (type) => {
    expect(() => read('{}', type)).toThrow(DnsError);
  });

  it.each([
    ['nothing', ''],
    ['half an object', '{"a":'],
    ['two objects', '{}{}'],
    ['arrays nested 16 deep in a member', `{"x":${'['.repeat(16)}${']'.repeat(16)}}`],
    ['4,001 members and elements', `{"x":[${'1,'.repeat(3_999)}1]}`],
    ['a byte order mark', '\ufeff{}'],
    ['half a character', Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d])],
  ])('is never %s', (_what, body) => {
    expect(() => read(body, 'application/json')).toThrow(RequestFault);
  });
});

describe('a member that two parsers could read differently', () => {
  it.each([
    ['twice the same', '{"name":"a","name":"b"}', 'name'],
    ['twice the same, once escaped', '{"name":"a","n\\u0061me":"b"}', 'name'],
    ['twice the same in a record', '{"records":[{"value":"a","value":"b"}]}', 'value'],
    ['twice the same in labels', '{"labels":{"env":"a","env":"b"}}', 'env'],
    ['beside itself in another case', '{"name":"a","Name":"b"}', 'Name'],
    ['alone in another case', '{"NAME":"a"}', 'NAME'],
    // Go's decoder folds these two characters to s and k as well.
    ['with a long s', '{"record\u017f":[]}', 'record\u017f'],
  ])('is found: %s', (_what, text, member) => {
    expect(findAmbiguousMember(text)).toBe(member);
  });

  it.each([
    ['the same member in two records', '{"records":[{"value":"a"},{"value":"b"}]}'],
    ['the same member at two depths', '{"name":"a","x":{"name":"b"}}'],
    ['label keys that look like members', '{"labels":{"Name":"a","TTL":"b"}}'],
    ['unknown members that differ in case', '{"x":1,"X":2}'],
    ['a member of every object', '{"__proto__":1,"toString":2}'],
    ['texts that look like members', '{"a":"\\"name\\":1","b":"\\"name\\":2"}'],
  ])('is not found in %s', (_what, text) => {
    expect(findAmbiguousMember(text)).toBeNull();
  });

  it('is named at a length that fits a message', () => {
    const member = 'x'.repeat(10_000);

    expect(findAmbiguousMember(`{"${member}":1,"${member}":2}`)).toHaveLength(64);
  });
});
