import { CorralError } from '@corral/client';
import { expect, test } from '@jest/globals';
import { fieldErrorsOf } from './field-errors.js';

const refused = (...pointers: string[]) =>
  new CorralError({
    status: 422,
    code: 'validation_failed',
    detail: 'The request is not valid.',
    errors: pointers.map((pointer, at) => ({ pointer, message: `must be ${at}` })),
  });
const fields = ['name', 'clusters', 'subject'];

test.each<[string, unknown, Record<string, string>, boolean]>([
  ['a field', refused('/name'), { name: 'It must be 0.' }, true],
  ['a field of the specification', refused('/spec/name'), { name: 'It must be 0.' }, true],
  ['a part of a field', refused('/spec/narrowing/clusters/0'), { clusters: 'It must be 0.' }, true],
  ['a field with another name', refused('/spec/claims/sub'), { subject: 'It must be 0.' }, true],
  ['two problems of a field', refused('/name', '/name'), { name: 'It must be 0.' }, true],
  ['a field and something else', refused('/name', '/spec/other'), { name: 'It must be 0.' }, false],
  ['the whole', refused(''), { name: 'It must be 0.' }, true],
  ['no field', refused(), {}, false],
  ['another error', new Error('name'), {}, false],
])('a refusal of %s stands where it belongs', (_what, error, byField, isComplete) => {
  expect(fieldErrorsOf(error, fields, { '': 'name', claims: 'subject', sub: 'subject' })).toEqual({
    byField,
    isComplete,
  });
});

test.each([
  ['spec.url is too long.', 'It is too long.'],
  ['Somebody else has this URL.', 'Somebody else has this URL.'],
])('the sentence "%s" does not name its field again', (detail, text) => {
  const error = new CorralError({
    ...{ status: 422, code: 'validation_failed', detail: 'The request is not valid.' },
    errors: [{ pointer: '/spec/url', message: 'is too long', detail }],
  });

  expect(fieldErrorsOf(error, ['url']).byField).toEqual({ url: text });
});
