import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { isExpected, probes, runProbes } from './run-probes.js';
import { startLocal } from './start-local.js';

const repository = fileURLToPath(new URL('../../..', import.meta.url));

it('the local cloud does what Corral relies on, as a real API server does', async () => {
  const projectToken = 'p'.repeat(64);
  const target = await startLocal(repository, projectToken);
  try {
    const { outcomes } = await runProbes(target, projectToken);

    const surprises = probes.flatMap((probe, at) =>
      isExpected(probe, outcomes[at] ?? '') ? [] : [`${probe.name}: ${outcomes[at]}`],
    );
    expect(surprises).toEqual([]);
  } finally {
    await target.stop();
  }
});
