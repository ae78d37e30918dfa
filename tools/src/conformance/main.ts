import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOrExit } from '@corral/service';
import { findGoProgram } from '@corral/testing/go-programs';
import { buildApiServer, findProgram } from './build-api-server.js';
import { installChart } from './install-chart.js';
import { type Lived, liveOn } from './live-on.js';
import { isExpected, type Outcomes, probes, runProbes } from './run-probes.js';
import { startKube } from './start-kube.js';
import { startLocal } from './start-local.js';
import type { Target } from './target.js';

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const atEnd: (() => Promise<void>)[] = [];
const say = (line: string) => console.error(line);

await startOrExit('npm run conformance', async () => {
  const [what, ...rest] = process.argv.slice(2);
  const known: Readonly<Record<string, () => Promise<number>>> = { garden: compareGardens, chart: tryChart };
  const compare = known[what ?? ''];
  if (compare === undefined || rest.length > 0) throw new Error('Usage: npm run conformance -- garden|chart');
  const code = await compare();
  for (const end of atEnd) await end();
  process.exit(code);
});

/** @returns the exit code: 1 if the real API server does not do what Corral relies on */
async function compareGardens(): Promise<number> {
  const kubePrograms = await findKubePrograms();
  if (kubePrograms === null) return 0;
  const projectToken = randomBytes(32).toString('hex');
  const outcomesOn = async (target: Target): Promise<Outcomes> => {
    // No process outlives this one. An orderly end also removes the folders.
    atEnd.push(() => target.stop());
    return runProbes(target, projectToken);
  };
  const local = await outcomesOn(await startLocal(repository, projectToken));
  const kube = await startKube({ ...kubePrograms, repository });
  const real = await outcomesOn(kube);
  const lived = await liveOn(kube);
  return report(real, local, lived);
}

/** Null, with a word, if this machine lacks something. */
async function findKubePrograms(): Promise<{ etcd: string; apiServer: string } | null> {
  const [etcd, go] = [
    await findProgram(process.env.CORRAL_ETCD ?? 'etcd', '--version'),
    await findProgram('go', 'version'),
  ];
  if (etcd === null || go === null) {
    say(`Skipped: it wants ${etcd === null ? 'etcd (Debian: etcd-server, or CORRAL_ETCD)' : 'Go 1.26'}.`);
    return null;
  }
  return { etcd, apiServer: await buildApiServer(repository, say) };
}

/** @returns the exit code: 1 if the chart does not do on the real API server what it should */
async function tryChart(): Promise<number> {
  const kubePrograms = await findKubePrograms();
  if (kubePrograms === null) return 0;
  const helm = findGoProgram('helm', { ...process.env, CORRAL_TEST_LONG: '1' });
  if (helm === null) throw new Error('Helm could neither be found nor built from the Go module proxy.');
  const kube = await startKube({ ...kubePrograms, repository });
  atEnd.push(() => kube.stop());
  const steps = await installChart(kube, helm, repository);
  for (const { name, problem } of steps) {
    console.log(`${problem === null ? 'ok  ' : 'FAIL'} The chart ${name}${problem === null ? '' : `: ${problem}`}`);
  }
  const failed = steps.filter(({ problem }) => problem !== null).length;
  console.log(`\n${steps.length} steps on ${kube.name}: ${steps.length - failed} went well, ${failed} did not.`);
  return failed === 0 ? 0 : 1;
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
