import { findJsonFault, UnreadableBody } from '@corral/http-api';
import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import fc from 'fast-check';
import { DnsError } from '../dns-error.js';
import { isRespelled, jsonObjectBody } from './json-body.js';

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

  it.each([
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonp',
    'application/json-patch+json',
    'application/problem+json',
    '*/*',
  ])('may not come with the content type %j', (type) => {
    expect(() => read('{}', type)).toThrow(DnsError);
  });

  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['half an object', '{"a":'],
    ['an array', '[]'],
    ['an array of objects', '[{"name":"api.acme"}]'],
    ['null', 'null'],
    ['a text', '"{}"'],
    ['a number', '1'],
    ['two objects', '{}{}'],
    ['a trailing comma', '{"a":1,}'],
    ['a comment', '{} // x'],
    ['true', 'true'],
    ['a form', 'name=api.acme&type=A'],
    ['XML', '<rrset/>'],
    ['arrays nested 16 deep in a member', `{"x":${'['.repeat(16)}${']'.repeat(16)}}`],
    ['4,001 members and elements', `{"x":[${'1,'.repeat(3_999)}1]}`],
    ['single quotes', "{'a':1}"],
    ['a byte order mark', '\ufeff{}'],
    ['a raw NUL', '{"a":"\0"}'],
    ['NaN', '{"a":NaN}'],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
    ['half a character', Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d])],
    ['an encoded surrogate', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong slash', Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d])],
  ])('is never %s', (_what, body) => {
    expect(() => read(body, 'application/json')).toThrow(UnreadableBody);
  });

  it('that never came is refused like an empty one', () => {
    expect(() => jsonObjectBody(requestOf(undefined))).toThrow(UnreadableBody);
  });

  it.each([
    ['arrays', '['.repeat(500_000)],
    ['closed arrays', `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`],
    ['objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
  ])('nested absurdly deep in %s is refused, not a crash', (_what, text) => {
    expect(() => read(text)).toThrow(UnreadableBody);
  });
});

describe('a member that two parsers could read differently', () => {
  it.each([
    ['twice the same', '{"name":"a","name":"b"}', 'name'],
    ['twice the same, once escaped', '{"name":"a","n\\u0061me":"b"}', 'name'],
    ['twice the same though unknown', '{"x":1,"x":1}', 'x'],
    ['twice the same in a record', '{"records":[{"value":"a","value":"b"}]}', 'value'],
    ['twice the same in labels', '{"labels":{"env":"a","env":"b"}}', 'env'],
    ['beside itself in another case', '{"name":"a","Name":"b"}', 'Name'],
    ['alone in another case', '{"NAME":"a"}', 'NAME'],
    ['alone in another case in a record', '{"records":[{"vaLue":"a"}]}', 'vaLue'],
    ['labels in another case', '{"Labels":{}}', 'Labels'],
    // Go's decoder folds these two characters to s and k as well.
    ['with a long s', '{"record\u017f":[]}', 'record\u017f'],
    ['with an escaped long s', '{"label\\u017f":{}}', 'label\u017f'],
  ])('is found: %s', (_what, text, member) => {
    expect(findAmbiguousMember(text)).toBe(member);
  });

  it.each([
    ['different members', '{"name":"a","type":"b"}'],
    ['the same member in two records', '{"records":[{"value":"a"},{"value":"b"}]}'],
    ['the same member at two depths', '{"name":"a","x":{"name":"b"}}'],
    ['label keys that look like members', '{"labels":{"Name":"a","TTL":"b"}}'],
    ['label keys that differ in case', '{"labels":{"env":"a","Env":"b"}}'],
    ['unknown members that differ in case', '{"x":1,"X":2}'],
    ['a member of every object', '{"__proto__":1,"toString":2}'],
    ['texts that look like members', '{"a":"\\"name\\":1","b":"\\"name\\":2"}'],
  ])('is not found in %s', (_what, text) => {
    expect(findAmbiguousMember(text)).toBeNull();
  });

  it('is never found in what a JSON printer makes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        // Respelled names of checked members aside, which no client sends.
        const text = JSON.stringify(value);
        if (!/"(name|type|ttl|labels|records|value|comment)"/i.test(text)) {
          expect(findAmbiguousMember(text)).toBeNull();
        }
      }),
    );
  });

  it('is named at a length that fits a message', () => {
    const member = 'x'.repeat(10_000);

    expect(findAmbiguousMember(`{"${member}":1,"${member}":2}`)).toHaveLength(64);
  });
});
