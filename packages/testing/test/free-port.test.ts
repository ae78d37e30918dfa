import { describe, expect, it } from '@jest/globals';
import { freePort } from '../src/free-port.js';

describe('a free port', () => {
  it('is given once, and by one worker only', async () => {
    const own = process.env.JEST_WORKER_ID;
    const ports: number[] = [];
    try {
      for (const worker of ['1', '2', '1', '2']) {
        process.env.JEST_WORKER_ID = worker;
        for (let count = 0; count < 20; count += 1) ports.push(await freePort());
      }
    } finally {
      process.env.JEST_WORKER_ID = own;
    }

    expect(new Set(ports).size).toBe(80);
    expect(ports.map((port) => port % 16)).toEqual(
      [1, 2, 1, 2].flatMap((worker) => Array.from({ length: 20 }, () => worker)),
    );
    expect(ports.every((port) => port >= 10_240 && port < 32_768)).toBe(true);
  });
});
