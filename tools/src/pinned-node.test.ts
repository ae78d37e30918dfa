import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');
const { platform, arch } = process;
const name = `node-99.1.0-${platform}-${arch}`;
const library = `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
/** Says which arguments it got, and which `node` is the first on its path. */
const fetchedNode = `#!/bin/sh
[ "$1" = --version ] && echo v99.1.0 || echo "went on: $* ($(command -v node))"`;

let folder: string;
let home: string;
let checkout: string;

/** A checkout that pins a Node.js that nobody has. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-pinned-node-'));
  [home, checkout] = [join(folder, 'home'), join(folder, 'checkout')];
  await mkdir(home);
  for (const file of ['run.mjs', 'pinned-node.mjs']) {
    await cp(join(root, 'tools', file), join(checkout, 'tools', file), { recursive: true });
  }
  await writeFile(join(checkout, '.node-version'), '99.1.0\n');
  await registryWith(fetchedNode);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
}

/** An npm that installs this program as Node.js, and notes what it was asked for. */
async function registryWith(node: string): Promise<void> {
  await program(join(folder, 'published', 'node'), node);
  const install = `#!/bin/sh
echo "$1 $2" >> '${folder}/asked'
for option; do case "$option" in --prefix=*) prefix="\${option#--prefix=}" ;; esac; done
mkdir -p "$prefix/node_modules/${library}/bin" && cp '${folder}/published/node' "$prefix/node_modules/${library}/bin/node"`;
  await program(join(folder, 'bin', 'npm'), install);
}

const unreachable = () => program(join(folder, 'bin', 'npm'), '#!/bin/sh\necho npm error code ENOTFOUND >&2; exit 1');

const asked = async () => (await readFile(join(folder, 'asked'), 'utf8').catch(() => '')).trim().split('\n');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(env: NodeJS.ProcessEnv = { HOME: home }): Promise<Ended> {
  const path = [join(folder, 'bin'), process.env.PATH].join(delimiter);
  const running = promisify(execFile)(process.execPath, [join(checkout, 'tools', 'run.mjs'), 'corral', 'dns', 'ls'], {
    env: { PATH: path, ...env },
  });
  return running.then(
    (output) => ({ code: 0, ...output }),
    (error: Ended) => error,
  );
}

const kept = (cache: string) => readdir(join(cache, name));

describe('a command on another Node.js than the pinned one', () => {
  it('says so, fetches the pinned one, and goes on with it, as all that it starts does', async () => {
    const { code, stdout, stderr } = await run();

    const node = join(home, '.cache', 'corral', name, 'node');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `went on: ${join(checkout, 'tools', 'run.mjs')} corral dns ls (${node})\n`,
    });
    expect(stderr).toBe(
      `Fetching Node.js 99.1.0 from the npm registry, once: this machine has ${process.versions.node} …\n`,
    );
    expect(await asked()).toEqual([`install ${library}@99.1.0`]);
    expect(await kept(join(home, '.cache', 'corral'))).toEqual(['node']);
  });

  it('keeps it in the checkout when the home of the user cannot be written', async () => {
    expect(await run({ HOME: '/dev/null/home' })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('went on'),
    });

    expect(await kept(join(checkout, '.cache'))).toEqual(['node']);
  });

  it('may be started twice at the same time', async () => {
    const both = await Promise.all([run(), run()]);

    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(await kept(join(home, '.cache', 'corral'))).toEqual(['node']);
  });

  it('without a registry says what to do, and tries again the next time', async () => {
    await unreachable();
    const failed = await run();
    await registryWith(fetchedNode);

    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr.split('\n').slice(1)).toEqual([
      'npm error code ENOTFOUND',
      `Corral runs on Node.js 99.1.0, but npm could not install ${library}@99.1.0.`,
      'Check the network, and the registry that `npm config get registry` names.',
      'You can also install Node.js 99.1.0 or a later 99.x: https://nodejs.org/en/download',
      '',
    ]);
    expect(await run()).toMatchObject({ code: 0 });
  });

  it.each([
    ['is for another kind of machine', '#!/nowhere/ld-linux.so\n'],
    ['is another version', '#!/bin/sh\necho v99.0.9'],
  ])('does not go on with one that %s', async (_what, node) => {
    await registryWith(node);

    const { code, stderr } = await run();

    expect(code).toBe(1);
    expect(stderr).toContain('Node.js 99.1.0 of the npm registry does not run on this machine.');
    expect(await kept(join(home, '.cache', 'corral'))).toEqual([]);
  });

  it('replaces one that no longer runs', async () => {
    await run();
    await program(join(home, '.cache', 'corral', name, 'node'), 'half of a file');

    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('went on') });
    expect(await asked()).toHaveLength(2);
  });
});

describe('the Node.js of the machine', () => {
  const pinned = async () => (await readFile(join(root, '.node-version'), 'utf8')).trim().split('.').map(Number);

  it('is used when it is the pinned release or a later one of its major', async () => {
    const { isPinned } = await import(join(root, 'tools', 'pinned-node.mjs'));
    const [major = 0, minor = 0, patch = 0] = await pinned();

    const fits = [`${major}.${minor}.${patch}`, `${major}.${minor}.${patch + 1}`, `${major}.${minor + 1}.0`];
    const others = ['20.19.0', `${major}.${minor - 1}.99`, `${major - 1}.99.0`, `${major + 1}.0.0`];
    expect(fits.map(isPinned)).toEqual([true, true, true]);
    expect(others.map(isPinned)).toEqual([false, false, false, false]);
  });
});
