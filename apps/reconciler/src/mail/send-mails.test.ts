import { describe, expect, it } from '@jest/globals';
import { retryMs } from './send-mails.js';

describe('the delay after a failed delivery', () => {
  const failed = { kind: 'failed', code: 'ESOCKET', status: null } as const;

  it.each([
    [0, 10_000],
    [1, 20_000],
    [5, 320_000],
    [9, 3_600_000],
    [1_000, 3_600_000],
  ])('doubles up to an hour: %s failures, %s ms', (failures, ms) => {
    expect(retryMs(failed, failures, 0)).toBe(ms);
    expect(retryMs(failed, failures, 1)).toBe(ms * 1.2);
  });

  it('is six hours after a permanent rejection', () => {
    expect(retryMs({ kind: 'refused', code: 'EENVELOPE', status: 550 }, 0, 0)).toBe(21_600_000);
  });
});
