import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOrExit } from '@corral/service';
import { buildApiServer, findProgram } from './build-api-server.js';
import { type Lived, liveOn } from './live-on.js';
import { type Probe, type Probing, prepare } from './probe.js';
import { probesOfAccess } from './probes-of-access.js';
import { probesOfPools } from './probes-of-pools.js';
import { probesOfReads } from './probes-of-reads.js';
import { probesOfShoots } from './probes-of-shoots.js';
import { startKube } from './start-kube.js';
import { startLocal } from './start-local.js';
import { connect, type Target } from './target.js';

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const atEnd: (() => Promise<void>)[] = [];
/** In the order in which they run: the last ones read the Shoots of the earlier ones. */
const probes: readonly Probe[] = [...probesOfShoots, ...probesOfPools, ...probesOfAccess, ...probesOfReads];
const say = (line: string) => console.error(line);

await startOrExit('npm run conformance', async () => {
  const [what, ...rest] = process.argv.slice(2);
  if (what !== 'garden' || rest.length > 0) throw new Error('Usage: npm run conformance -- garden');
  const code = await compareGardens();
  for (const end of atEnd) await end();
  process.exit(code);
});

/** @returns the exit code: 1 if the real API server does not do what Corral relies on */
async function compareGardens(): Promise<number> {
  const [etcd, go] = [
    await findProgram(process.env.CORRAL_ETCD ?? 'etcd', '--version'),
    await findProgram('go', 'version'),
  ];
  if (etcd === null || go === null) {
    say(`Skipped: it wants ${etcd === null ? 'etcd (Debian: etcd-server, or CORRAL_ETCD)' : 'Go 1.26'}.`);
    return 0;
  }
  const apiServer = await buildApiServer(repository, say);
  const projectToken = randomBytes(32).toString('hex');
  const local = await outcomesOn(await startLocal(repository, projectToken), projectToken);
  const kube = await startKube({ etcd, apiServer, repository });
  const real = await outcomesOn(kube, projectToken);
  const lived = await liveOn(kube);
  return report(real, local, lived);
}

interface Outcomes {
  readonly target: string;
  readonly outcomes: readonly string[];
}

async function outcomesOn(target: Target, projectToken: string): Promise<Outcomes> {
  const garden = connect(target.accounts.reconciler);
  try {
    const namespace = await prepare(target, garden, projectToken);
    const probing: Probing = { target, garden, namespace, projectToken };
    const outcomes: string[] = [];
    for (const probe of probes) outcomes.push(await outcomeOf(probe, probing));
    return { target: target.name, outcomes };
  } finally {
    await garden.close();
    // No process outlives this one. An orderly end also removes the folders.
    atEnd.push(() => target.stop());
  }
}

function outcomeOf(probe: Probe, probing: Probing): Promise<string> {
  return probe.run(probing).catch((error: unknown) => `failed: ${(error as Error).message.split('\n')[0]}`);
}

function isExpected({ expected }: Probe, outcome: string): boolean {
  return typeof expected === 'string' ? outcome === expected : expected.test(outcome);
}

function report(real: Outcomes, local: Outcomes, lived: readonly Lived[]): number {
  let [failed, differing] = [0, 0];
  for (const [at, probe] of probes.entries()) {
    const [onReal = '', onLocal = ''] = [real.outcomes[at], local.outcomes[at]];
    const isFine = isExpected(probe, onReal);
    console.log(`${isFine ? 'ok  ' : 'FAIL'} The garden ${probe.name}`);
    if (!isFine) {
      failed += 1;
      console.log(`       relied on: ${probe.expected}\n       ${real.target}: ${onReal}`);
    }
    if (onReal === onLocal || (isFine && isExpected(probe, onLocal))) continue;
    differing += 1;
    console.log(`     differs\n       ${real.target}: ${onReal}\n       ${local.target}: ${onLocal}`);
  }
  console.log('\nCluster API and reconciler on it, with simulated Gardener controllers:');
  for (const { stage, outcome } of lived) {
    const isFine = outcome === stage.expected;
    console.log(`${isFine ? 'ok  ' : 'FAIL'} They ${stage.name}: ${outcome}`);
    if (isFine) continue;
    failed += 1;
    console.log(`       relied on: ${stage.expected}`);
  }
  console.log(
    `\n${probes.length + lived.length} probes on ${real.target}: ${probes.length + lived.length - failed} as relied on, ${failed} not.`,
  );
  console.log(`${differing} of them differ on the ${local.target}.`);
  return failed === 0 ? 0 : 1;
}
