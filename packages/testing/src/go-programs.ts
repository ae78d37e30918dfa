import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Missing } from './needing.js';

interface GoProgram {
  /** The path of the main package, with its version. */
  readonly source: string;
  /** Arguments of a call that succeeds. */
  readonly check: readonly string[];
  /** A variable with the path of the program to use. */
  readonly variable: string;
}

const programs = {
  helm: { source: 'helm.sh/helm/v3/cmd/helm@v3.22.0', check: ['version'], variable: 'CORRAL_HELM' },
  // The version of the chart's image. Older ones cannot be the server, and fail this call.
  rclone: {
    source: 'github.com/rclone/rclone@v1.71.0',
    check: ['serve', 's3', '--auth-key', 'id,secret', '--help'],
    variable: 'CORRAL_RCLONE',
  },
} as const satisfies Readonly<Record<string, GoProgram>>;

type Name = keyof typeof programs;

/** Why there is no such program, for the tests that need it. */
export const missingGoProgram = (name: Name): Missing => ({
  what: name,
  how: `put ${name} on PATH, set ${programs[name].variable} to it, or run the test by \`npm run test:long\`, which builds it`,
});

/**
 * The path of a program: from its variable, the one that was built before, or one on the PATH. Long runs build it from the Go
 * module proxy, which takes minutes of CPU time, once per machine.
 *
 * @returns null if there is none
 */
export function findGoProgram(name: Name, env: NodeJS.ProcessEnv = process.env): string | null {
  const { source, check, variable }: GoProgram = programs[name];
  const cache = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'corral', `${name}-${source.split('@')[1]}`);
  const built = join(cache, name);
  const works = (program: string) => spawnSync(program, check, { stdio: 'ignore' }).status === 0;
  const found = [env[variable], built, name].find((program) => program !== undefined && works(program));
  if (found !== undefined) return found;
  if (env.CORRAL_TEST_LONG === undefined) return null;
  build(source, cache, env);
  return existsSync(built) ? built : null;
}

/** Leaves nothing without Go or a module proxy. The folder is put in place at the end, so a cut build leaves none. */
function build(source: string, cache: string, env: NodeJS.ProcessEnv): void {
  const folder = `${cache}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync('go', ['install', source], { env: { ...env, GOBIN: folder }, stdio: 'ignore' });
  if (status === 0 && !existsSync(cache)) renameSync(folder, cache);
  else rmSync(folder, { recursive: true, force: true });
}

/** The definitions of the custom resources that the chart uses: modules, and paths in them. */
export const chartDefinitions = [
  ['github.com/kedacore/keda/v2@v2.21.0', 'config/crd/bases/keda.sh_scaledobjects.yaml'],
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  ],
  ['sigs.k8s.io/gateway-api@v1.4.0', 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
] as const;

/** The folder of a Go module, which is downloaded if it has to be. Null without Go or a module proxy. */
export function goModule(module: string): string | null {
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', module], {
    env: { ...process.env, GOFLAGS: '-mod=mod' },
    cwd: homedir(),
    encoding: 'utf8',
  });
  return status === 0 ? (JSON.parse(stdout) as { readonly Dir: string }).Dir : null;
}
