import { CorralError } from '@corral/client';
import { describe, expect, it } from '@jest/globals';
import { failureText } from './failure-text.js';

const refused = (detail: string, errors: CorralError['errors']) =>
  failureText(new CorralError({ status: 422, code: 'validation_failed', detail, errors }));

describe('the text of a refusal', () => {
  it('names a field of the DNS API as that API spells it', () => {
    const errors = [{ pointer: '/records/0/value', message: 'must not be empty' }];

    expect(refused('The request is not valid.', errors)).toBe(
      'The request is not valid. records[0].value must not be empty. (validation_failed)',
    );
  });

  it('says each sentence once', () => {
    const detail = 'spec.nodePools[0].minimum must be at most the maximum, 3.';
    const errors = [{ pointer: '/spec/nodePools/0/minimum', message: 'must be at most the maximum, 3', detail }];

    expect(refused(detail, errors)).toBe(`${detail} (validation_failed)`);
  });

  it('says each of several sentences once, also where another one follows it', () => {
    const errors = ['a', 'b'].map((field) => ({
      pointer: `/spec/${field}`,
      message: 'is required',
      detail: `spec.${field} is required.`,
    }));

    expect(refused('spec.a is required; spec.b is required.', errors)).toBe(
      'spec.a is required; spec.b is required. (validation_failed)',
    );
  });
});
