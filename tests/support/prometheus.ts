import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type Missing, startProcess, waitFor } from '@corral/testing';
import { stringify } from 'yaml';
import { builtFile } from './system/program.js';

/** Null where the program is installed. */
export function missingProgram(name: 'prometheus' | 'promtool'): Missing | null {
  const isThere = spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0;
  return isThere ? null : { what: name, how: `put ${name} (of Prometheus) on PATH` };
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface Prometheus {
  /** The samples that an expression has now. @throws Error with the reason if Prometheus does not accept it */
  query(expression: string): Promise<readonly Sample[]>;
  stop(): Promise<void>;
}

/** Starts Prometheus with our rules. It scrapes these addresses, and evaluates the rules, every second. */
export async function startPrometheus(urls: readonly string[]): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'corral-prometheus-'));
  const file = join(directory, 'prometheus.yaml');
  const targets = urls.map((url) => new URL(url).host);
  const scrape = { job_name: 'corral', honor_labels: true, static_configs: [{ targets }] };
  await writeFile(
    file,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [builtFile('infra/monitoring/rules.yaml')],
      scrape_configs: [scrape],
    }),
  );
  const base = `http://127.0.0.1:${await freePort()}`;
  const process = await startProcess({
    name: 'Prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${file}`,
      `--storage.tsdb.path=${directory}`,
      `--web.listen-address=${new URL(base).host}`,
      '--log.level=warn',
    ],
  });
  await waitFor('Prometheus to be ready', async () => (await fetch(`${base}/-/ready`)).ok);
  return {
    async query(expression) {
      const answer = await fetch(`${base}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      });
      const { status, error, data } = (await answer.json()) as {
        readonly status: string;
        readonly error?: string;
        readonly data: { readonly result: readonly Sample[] };
      };
      if (status !== 'success') throw new Error(`${expression}: ${error}`);
      return data.result;
    },
    async stop() {
      await process.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
