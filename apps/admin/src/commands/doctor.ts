import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import type { Check, CheckDeps, Result } from '../doctor/check.js';
import { clock, postgres, roles, schema } from '../doctor/database-checks.js';
import { certificates, connections, garden, mail } from '../doctor/outside-checks.js';
import { hold, queue, services, sync, upstream } from '../doctor/service-checks.js';
import { OperatorError, sentenceOf } from '../operator-error.js';
import { readByPool } from '../owner-pool.js';

/** The checks in the order of the answer. Without the first ones the others cannot be known. */
const checks: Readonly<Record<string, Check>> = {
  postgres,
  schema,
  clock,
  roles,
  queue,
  services,
  upstream,
  sync,
  hold,
  garden,
  connections,
  mail,
  certificates,
};

interface DoctorOptions {
  readonly url?: string[];
  readonly garden?: string;
  readonly quiet?: boolean;
}

interface Checked extends Result {
  readonly check: string;
}

export function doctorCommand(withContext: WithContext): Command {
  return new Command('doctor')
    .description('check the installation, one line for each part; ends with 1 if something does not work')
    .option('--url <url...>', 'addresses of the APIs, whose certificates are checked')
    .option('--garden <kubeconfig>', 'file of the reconciler, whose rights in the garden are checked')
    .option('--quiet', 'print only what is not well')
    .action(
      withContext(async (context, { url: urls = [], garden: kubeconfig, quiet = false }: DoctorOptions) => {
        const options = { purpose: 'doctor', connectionsMax: 2, statementTimeoutMs: 10_000 };
        const results = await readByPool(context, options, (pool) =>
          runChecks({ context, pool, urls, kubeconfig: kubeconfig ?? null }),
        );
        const shown = results.filter(({ state }) => !quiet || state === 'warning' || state === 'failed');
        context.print({ checks: shown }, shown.map(lineOf).join(''));
        const broken = results.filter(({ state }) => state === 'failed').map(({ check }) => check);
        if (broken.length > 0) throw new OperatorError(`Not well: ${broken.join(', ')}.`);
      }),
    );
}

async function runChecks(deps: CheckDeps): Promise<Checked[]> {
  const results: Checked[] = [];
  for (const [check, run] of Object.entries(checks)) {
    const result = await run(deps).catch((error: unknown): Result => ({ state: 'failed', text: sentenceOf(error) }));
    results.push({ check, ...result });
    if (result.state === 'failed' && (run === postgres || run === schema)) break;
  }
  return results;
}

const lineOf = ({ check, state, text }: Checked): string => `${state.padEnd(9)}  ${check.padEnd(12)}  ${text}\n`;
