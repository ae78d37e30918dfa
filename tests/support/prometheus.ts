import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type Missing, startProcess, waitFor } from '@corral/testing';
import { stringify } from 'yaml';
import { builtFile } from './system/program.js';
import { type Ends, ownFolder } from './system/system-parts.js';

/** Null where the program is installed. */
export function missingProgram(name: 'prometheus' | 'promtool'): Missing | null {
  const isThere = spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0;
  return isThere ? null : { what: name, how: `put ${name} (of Prometheus) on PATH` };
}

/**
 * Checks rules, or runs their tests.
 *
 * @param file its path, or what to write into one
 * @returns why promtool does not accept it; '' if it does
 */
export function complaintsOfPromtool(command: 'check' | 'test', file: string | object): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-promtool-'));
  const path = typeof file === 'string' ? file : join(folder, 'rules.yaml');
  if (typeof file !== 'string') writeFileSync(path, stringify(file));
  const { status, stdout, stderr } = spawnSync('promtool', [command, 'rules', path], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return status === 0 ? stderr : stdout + stderr;
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface Prometheus {
  /** The samples that an expression has now. @throws Error with the reason if Prometheus does not accept it */
  query(expression: string): Promise<readonly Sample[]>;
}

/** Starts Prometheus with our rules. It scrapes these addresses, and evaluates the rules, every second. */
export async function startPrometheus(ends: Ends, urls: readonly string[]): Promise<Prometheus> {
  const directory = await ownFolder(ends);
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
  const running = await startProcess({
    name: 'Prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${file}`,
      `--storage.tsdb.path=${directory}`,
      `--web.listen-address=${new URL(base).host}`,
      '--log.level=warn',
    ],
  });
  ends.push(running.stop);
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
  };
}
