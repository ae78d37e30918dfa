import { CorralError } from '@corral/client';
import { describe, expect, jest, test } from '@jest/globals';
import { sendIfUnedited } from './send-if-unedited.js';

const version = (generation: number, etag: string) => ({ metadata: { generation, etag } });
const changed = new CorralError({ status: 412, code: 'precondition_failed', detail: 'It has changed.' });

describe('a conditional change', () => {
  test('is sent again while only the status has changed', async () => {
    const send = jest.fn(async (etag: string) => {
      if (etag !== 'b') throw changed;
      return 'done';
    });

    expect(await sendIfUnedited(version(1, 'a'), async () => version(1, 'b'), send)).toBe('done');
    expect(send.mock.calls).toEqual([['a'], ['b']]);
  });

  test('is not sent again after another person’s change', async () => {
    const send = jest.fn(async () => Promise.reject(changed));

    await expect(sendIfUnedited(version(1, 'a'), async () => version(2, 'b'), send)).rejects.toBe(changed);
    expect(send).toHaveBeenCalledTimes(1);
  });

  test('is given up after three attempts', async () => {
    const send = jest.fn(async () => Promise.reject(changed));

    await expect(sendIfUnedited(version(1, 'a'), async () => version(1, 'b'), send)).rejects.toBe(changed);
    expect(send).toHaveBeenCalledTimes(3);
  });

  test('is not repeated for other refusals', async () => {
    const refused = new CorralError({ status: 409, code: 'connection_in_use', detail: 'It is in use.' });
    const send = jest.fn(async () => Promise.reject(refused));

    await expect(sendIfUnedited(version(1, 'a'), async () => version(1, 'b'), send)).rejects.toBe(refused);
    expect(send).toHaveBeenCalledTimes(1);
  });
});
