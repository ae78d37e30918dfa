import { CorralError } from '@corral/client';
import { describe, expect, it } from '@jest/globals';
import { classifyFailure } from './record-set-api.js';

const refusal = (detail: string, ...messages: string[]) =>
  classifyFailure(
    new CorralError({
      status: 422,
      code: 'invalid_input',
      detail,
      errors: messages.map((message) => ({ pointer: '/ttl', message })),
    }),
    'Sign in.',
  );

describe('a refused request', () => {
  it.each<[detail: string, messages: string[], said: string]>([
    ["invalid value 'x'", ["invalid value 'x'"], "invalid value 'x'"],
    [
      "invalid input in field 'ttl': must be 60 at least",
      ['must be 60 at least'],
      "invalid input in field 'ttl': must be 60 at least",
    ],
    [
      'Some fields are invalid.',
      ['a is wrong.', 'b is wrong.', 'a is wrong.'],
      'Some fields are invalid. a is wrong. b is wrong.',
    ],
    ['Not allowed.', [], 'Not allowed.'],
  ])('says everything once: %s', (detail, messages, said) => {
    expect(refusal(detail, ...messages)).toEqual({ kind: 'refused', detail: said });
  });
});
