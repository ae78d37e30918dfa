import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Missing } from '@corral/testing';

const VERSION = 'v3.16.4';
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'corral', `helm-${VERSION}`);
const built = join(cache, 'helm');

/** Why there is no Helm, for the tests that need it. */
export const missingHelm: Missing = {
  what: 'Helm',
  how: 'put helm on PATH, set CORRAL_HELM to it, or run `npm run test:long -- helm`, which builds it',
};

/**
 * The path of Helm: `CORRAL_HELM`, one on the PATH, or the one that was built before. Long runs build it from the Go module
 * proxy, which takes minutes, once per machine.
 *
 * @returns null if there is none
 */
export function findHelm(env: NodeJS.ProcessEnv = process.env): string | null {
  const works = (program: string) => spawnSync(program, ['version'], { stdio: 'ignore' }).status === 0;
  const found = [env.CORRAL_HELM, built, 'helm'].find((program) => program !== undefined && works(program));
  if (found !== undefined) return found;
  return env.CORRAL_TEST_LONG === undefined ? null : buildHelm(env);
}

/** Null without Go or a module proxy. The program is put in place at its end, so a cut build leaves none. */
function buildHelm(env: NodeJS.ProcessEnv): string | null {
  const folder = `${cache}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync('go', ['install', `helm.sh/helm/v3/cmd/helm@${VERSION}`], {
    env: { ...env, GOBIN: folder },
    stdio: 'ignore',
  });
  if (status === 0 && !existsSync(cache)) renameSync(folder, cache);
  else rmSync(folder, { recursive: true, force: true });
  return existsSync(built) ? built : null;
}
