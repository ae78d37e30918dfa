import { describe, expect, it } from '@jest/globals';
import { waitFor } from './wait-for.js';

describe('waitFor', () => {
  it("returns the probe's value as soon as it is truthy", async () => {
    const answers = [null, 0, '', { herd: 'acme' }, 'too late'];

    const seen = await waitFor('a herd', () => answers.shift());

    expect(seen).toEqual({ herd: 'acme' });
    expect(answers).toEqual(['too late']);
  });

  it('treats an error of the probe as "not yet"', async () => {
    let tries = 0;
    const probe = async () => {
      tries += 1;
      if (tries < 3) throw new Error('connection refused');
      return tries;
    };

    expect(await waitFor('the service', probe)).toBe(3);
  });

  it.each([
    ['a value', () => 0, 'Waited 30 ms for the cluster to be ready. Last seen: 0'],
    ['an error', () => Promise.reject(new Error('phase is Creating')), 'Last seen: phase is Creating'],
    ['a probe that hangs', () => new Promise<never>(() => undefined), 'Last seen: nothing yet'],
  ])('gives up with the description and the last state seen: %s', async (_, probe, message) => {
    const waiting = waitFor('the cluster to be ready', probe, { timeoutMs: 30 });

    await expect(waiting).rejects.toThrow(message);
  });

  it('probes once more at the deadline, so that a busy machine does not fail a test', async () => {
    const start = performance.now();

    await waitFor('the end', () => performance.now() - start > 50, { timeoutMs: 60 });
  });

  it('probes again when a probe outlasted the deadline', async () => {
    const end = performance.now() + 50;
    let looks = 0;
    const slowAtFirst = () => {
      while (performance.now() < end);
      looks += 1;
      return looks === 2;
    };

    await waitFor('the second look', slowAtFirst, { timeoutMs: 20 });
  });
});
