import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from './api-error.js';
import { parseLabelSelector } from './label-selector.js';

const labels = { env: 'prod', team: 'web', empty: '', 'example.net/tier': '1' };

describe('label selectors', () => {
  it.each([
    '',
    ' ',
    'env',
    'empty',
    '!absent',
    '! absent',
    'env=prod',
    'env==prod',
    'env = prod',
    'env!=dev',
    'absent!=dev',
    'empty=',
    'example.net/tier=1',
    'env in (dev,prod)',
    'env in ( dev , prod )',
    'env in(prod)',
    'env notin (dev)',
    'absent notin (a)',
    'env=prod,team=web',
    'env in (prod,dev),team,!absent',
  ])('%p selects', (selector) => {
    expect(parseLabelSelector(selector)(labels)).toBe(true);
  });

  it.each([
    'absent',
    '!env',
    'env=dev',
    'env==dev',
    'env!=prod',
    'absent=',
    'absent in (a)',
    'env in (dev,test)',
    'env notin (prod,dev)',
    'env=prod,team=db',
    'constructor',
  ])('%p leaves out', (selector) => {
    expect(parseLabelSelector(selector)(labels)).toBe(false);
  });

  it.each([',', 'env in', 'env in (', 'env in (a', 'env in a', '=a', '!', 'env<1', 'env=a b', 'env,', '-x'])(
    '%p is refused',
    (selector) => {
      expect(() => parseLabelSelector(selector)).toThrow(ApiError);
    },
  );

  it('never fail in any other way than invalid_input', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab1=!,() intout/.-') }), (selector) => {
        try {
          parseLabelSelector(selector)(labels);
        } catch (error) {
          expect(error).toMatchObject({ status: 422, code: 'invalid_input' });
        }
      }),
    );
  });
});
