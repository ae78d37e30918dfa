import { describe, expect, it } from '@jest/globals';
import { operationValues } from './operations.js';

describe('the columns of a verdict', () => {
  it.each([
    [0, 0],
    [41.6, 42],
    [-5, 0],
    [100, 99],
  ])('keep the progress of a running operation below 100: %p becomes %p', (progress, stored) => {
    expect(operationValues({ to: 'running', progress })).toEqual(['running', stored, '{}', false]);
  });

  it('are final for what has succeeded', () => {
    expect(operationValues({ to: 'succeeded' })).toEqual(['succeeded', 100, '{}', true]);
  });

  it('say what to do about a failure', () => {
    const [state, progress, error, isFinal] = operationValues({
      to: 'failed',
      code: 'provider_token_rejected',
      message: 'No.',
    });

    expect([state, progress, isFinal]).toEqual(['failed', 0, true]);
    expect(JSON.parse(error)).toEqual({
      code: 'provider_token_rejected',
      message: 'No.',
      retryable: expect.any(Boolean),
      hint: expect.any(String),
    });
  });
});
