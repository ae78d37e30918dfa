import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.js';

/** The commit that is released, built in a folder of its own. */
export interface Checkout {
  readonly folder: string;
  readonly version: string;
  readonly commit: string;
  /** The time when the commit was made, in seconds since 1970: the time of everything in the release. */
  readonly epoch: number;
  /** The environment in which the checkout builds. */
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

export const PROGRAMS = ['dns-gateway', 'cluster-api', 'reconciler', 'admin', 'cli', 'console'];

/** Takes the current commit of a repository, gives it a version, and builds it. Changes that are not committed are not in it. */
export function buildCheckout(repository: string, version: string): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'corral-release-'));
  const git = (...args: string[]) => run('git', args, { cwd: repository }).trim();
  const commit = git('rev-parse', 'HEAD');
  const epoch = Number(git('log', '-1', '--format=%ct', commit));
  const env = {
    CI: 'true',
    TURBO_TELEMETRY_DISABLED: '1',
    SOURCE_DATE_EPOCH: String(epoch),
    PATH: `${join(repository, 'node_modules/.bin')}:${process.env.PATH}`,
  };
  const sources = join(folder, 'sources');
  // A clone, because turbo reads whole folders for minutes where there is no repository.
  git('clone', '--quiet', '--shared', '--no-checkout', repository, sources);
  git('-C', sources, 'checkout', '--quiet', '--detach', commit);
  run(process.execPath, ['tools/set-version.mjs', version], { cwd: sources });
  run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], { cwd: sources, env });
  const filters = PROGRAMS.map((name) => `--filter=@corral/${name}`);
  run('turbo', ['run', 'bundle', 'compress', ...filters], { cwd: sources, env });
  run('turbo', ['run', 'build', '--filter=@corral/client'], { cwd: sources, env });
  return {
    folder: sources,
    version,
    commit,
    epoch,
    env,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
