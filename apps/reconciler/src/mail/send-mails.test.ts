import { describe, expect, it } from '@jest/globals';
import { retryMs } from './send-mails.js';

describe('after a mail was not taken', () => {
  const failed = { kind: 'failed', code: 'ESOCKET', status: null } as const;

  it.each([
    [0, 10_000],
    [1, 20_000],
    [5, 320_000],
    [9, 3_600_000],
    [1_000, 3_600_000],
  ])('the next try comes later and later: after %s failures in %s ms', (failures, ms) => {
    expect(retryMs(failed, failures, 0)).toBe(ms);
    expect(retryMs(failed, failures, 1)).toBe(ms * 1.2);
  });

  it('the next try is far off when the server will not have it', () => {
    expect(retryMs({ kind: 'refused', code: 'EENVELOPE', status: 550 }, 0, 0)).toBe(21_600_000);
  });
});
