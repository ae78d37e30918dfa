import { InvalidBody } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { checkAll, combined, invalidField, Problem, problemOfBody } from './problem.js';

const network = (field: string) => invalidField('invalid_network', `/spec/network/${field}`, 'is too small');
const fixed = (pointer: string) => invalidField('immutable_field', pointer, 'cannot change');
const refuse = (problem: Problem) => () => {
  throw problem;
};
const refusalOf = (...checks: (() => void)[]): unknown => {
  try {
    return checkAll(checks);
  } catch (error) {
    return error;
  }
};

describe('an error of a problem', () => {
  it('has the code of the problem and a sentence, unless it has its own', () => {
    const own = { pointer: '', message: 'is too much', code: 'quota_exceeded', detail: 'Ask for more.' } as const;

    const { errors } = new Problem('validation_failed', 'Wrong.', {
      errors: [{ pointer: '/spec/region', message: 'is required' }, own],
    });

    expect(errors).toEqual([
      {
        pointer: '/spec/region',
        message: 'is required',
        code: 'validation_failed',
        detail: 'spec.region is required.',
      },
      own,
    ]);
  });

  it('of an invalid body is one for each field', () => {
    const fields = ['a', 'b'].map((name) => ({ name, pointer: `/${name}`, message: 'is required' }));

    expect(problemOfBody(new InvalidBody(fields))).toMatchObject({
      code: 'validation_failed',
      detail: 'a is required; b is required.',
      errors: [{ pointer: '/a' }, { pointer: '/b' }],
    });
  });
});

describe('checks of a request', () => {
  it('refuse nothing when none of them does', () => {
    expect(refusalOf(() => undefined)).toBeUndefined();
  });

  it('refuse with the only problem as it is', () => {
    const only = new Problem('cluster_deleting', 'Wait.', { operationId: 'o-1' });

    expect(refusalOf(() => undefined, refuse(only))).toBe(only);
  });

  it('are all made, and refuse with the first problem and the errors of all', () => {
    const refusal = refusalOf(refuse(network('podCIDR')), refuse(fixed('/spec/region')), refuse(network('nodeCIDR')));

    expect(refusal).toMatchObject({
      code: 'invalid_network',
      detail: 'spec.network.podCIDR is too small.',
      errors: [
        { pointer: '/spec/network/podCIDR', code: 'invalid_network' },
        { pointer: '/spec/region', code: 'immutable_field' },
        { pointer: '/spec/network/nodeCIDR', code: 'invalid_network' },
      ],
    });
  });

  it('do not hide a failure behind a refusal', () => {
    const failure = new TypeError('a bug');

    const broken = () => {
      throw failure;
    };
    expect(refusalOf(refuse(network('podCIDR')), broken)).toBe(failure);
  });
});

describe('combined problems', () => {
  it('report a field that cannot change only as such', () => {
    const errors = combined(fixed('/spec/network/podCIDR'), [network('podCIDR'), network('nodeCIDR')]).errors ?? [];

    expect(errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
      '/spec/network/podCIDR immutable_field',
      '/spec/network/nodeCIDR invalid_network',
    ]);
  });

  it('have at most 50 errors', () => {
    const many = Array.from({ length: 80 }, (_, index) => network(`range-${index}`));

    expect(combined(network('podCIDR'), many).errors).toHaveLength(50);
  });

  it('keep the operation and the time to wait of the first', () => {
    const first = new Problem('cluster_deleting', 'Wait.', { operationId: 'o-1', retryAfterSeconds: 5 });

    expect(combined(first, [network('podCIDR')])).toMatchObject({ operationId: 'o-1', retryAfterSeconds: 5 });
  });
});
