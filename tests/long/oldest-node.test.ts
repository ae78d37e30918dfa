import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(repository, path), 'utf8');
const oldest: string = JSON.parse(read('package.json')).engines.node.replace('>=', '');
const pinned = read('.node-version').trim();
const folder = mkdtempSync(join(tmpdir(), 'corral-oldest-node-'));
const [home, clone, tools] = [join(folder, 'home'), join(folder, 'clone'), join(folder, 'tools')];
/** Nothing of the `npm run` that started this test. */
const outside = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/.test(name)));
const oldPath = [join(tools, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
/** Root becomes an ordinary user. */
const asUser = process.getuid?.() === 0 ? ['runuser', '-u', 'nobody', '--'] : [];

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> =>
  spawnSync(args[0] as string, args.slice(1), { cwd: clone, encoding: 'utf8', env: { ...outside, ...env } });
const corral = (env: NodeJS.ProcessEnv = {}) =>
  run([...asUser, 'npm', 'run', '--silent', 'corral', '--', '--version'], {
    ...{ HOME: home, XDG_CACHE_HOME: undefined, PATH: oldPath },
    ...env,
  });

/** A fresh clone of what is committed, an empty home, and the oldest Node.js that `engines` names. */
beforeAll(() => {
  for (const path of [home, clone, tools]) mkdirSync(path);
  chmodSync(folder, 0o755);
  const commands = [
    ['git', 'clone', '--quiet', repository, clone],
    ['npm', 'install', '--no-save', `--prefix=${tools}`, `node@${oldest}`],
    ...(asUser.length > 0 ? [['chown', '--recursive', 'nobody', home, clone]] : []),
  ];
  for (const command of commands) expect(run(command)).toMatchObject({ status: 0 });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('brings a fresh clone from the oldest Node.js to the pinned one, and later needs no network', () => {
  const first = corral();
  const second = corral({ npm_config_registry: 'http://127.0.0.1:9' });

  expect(first).toMatchObject({ status: 0, stdout: `${JSON.parse(read('package.json')).version}\n` });
  expect(first.stderr).toMatch(
    new RegExp(`^Fetching Node.js ${pinned} from the npm registry, once: this machine has ${oldest}`),
  );
  expect(second).toMatchObject({ status: 0, stdout: first.stdout, stderr: '' });
}, 600_000);

it('lets a program that is started by hand say which Node.js it needs', () => {
  const { status, stderr } = run(['node', join(clone, 'apps/cli/dist/main.js'), '--version'], { PATH: oldPath });

  expect({ status, stderr }).toEqual({
    status: 78,
    stderr: `Corral needs Node.js 24 or newer; this is ${oldest}.\n`,
  });
});
