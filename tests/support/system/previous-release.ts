import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rehearseBuild } from './image-build.js';
import { builtFile, repository } from './program.js';

const apps = ['dns-gateway', 'cluster-api', 'reconciler', 'admin'] as const;
export type App = (typeof apps)[number];

export interface Release {
  /** The path of a built program. */
  programOf(app: App): string;
  readonly migrationsDir: string;
}

/** What this checkout builds. */
export const thisRelease: Release = {
  programOf: (app) => builtFile(`apps/${app}/dist/main.js`),
  migrationsDir: builtFile('prisma/migrations'),
};

/**
 * The commit of the release before this one: `CORRAL_PREVIOUS_RELEASE`, or the newest tag of a version below the current commit.
 * Before the first release it is the current commit: that still shows that no request fails while replicas are replaced.
 *
 * @returns null if the checkout does not have it, for example because it is shallow
 */
export function findPreviousRelease(env: NodeJS.ProcessEnv = process.env): string | null {
  const tagged = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^');
  return git('rev-parse', '--verify', '--quiet', `${env.CORRAL_PREVIOUS_RELEASE ?? tagged ?? 'HEAD'}^{commit}`);
}

/** Builds the images of a commit by its own Dockerfile, in folders. It takes minutes. `remove` deletes them. */
export async function buildRelease(commit: string): Promise<Release & { remove(): void }> {
  const checkout = mkdtempSync(join(tmpdir(), 'corral-release-'));
  const removeCheckout = () => rmSync(checkout, { recursive: true, force: true });
  try {
    if (git('clone', '--quiet', '--shared', '--no-checkout', repository, checkout) === null)
      throw new Error('git clone');
    if (git('-C', checkout, 'checkout', '--quiet', '--detach', commit) === null) throw new Error('git checkout');
    const dockerfile = readFileSync(join(checkout, 'infra/Dockerfile'), 'utf8');
    const { root, inStage } = await rehearseBuild(checkout, dockerfile, ['build', ...apps]);
    return {
      programOf: (app) => inStage(app, 'app/dist/main.js'),
      migrationsDir: inStage('admin', 'app/prisma/migrations'),
      remove: () => rmSync(root, { recursive: true, force: true }),
    };
  } finally {
    removeCheckout();
  }
}

function git(...args: string[]): string | null {
  const { status, stdout } = spawnSync('git', args, { cwd: repository, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
