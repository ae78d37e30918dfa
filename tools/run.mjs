/**
 * What `npm start`, `npm test` and the scripts of `package.json` beside them enter. It works in a fresh clone, with Node.js
 * and npm alone: it goes on with the Node.js that everything here runs on, installs and builds what is missing or out of date,
 * then hands over. It has no dependencies. All it says itself goes to stderr, so that `npm run -s admin -- … | jq` gets nothing else.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  existsSync,
  constants as fileModes,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants, homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheHere, findPinnedNode, isPinned, networkAdvice } from './pinned-node.mjs';

const root = dirname(import.meta.dirname);
const inRoot = (...path) => join(root, ...path);
const say = (line) => process.stderr.write(`${line}\n`);

const EVERYTHING = ['build', 'bundle', 'compress'];
const PARTS_OF_START = ['tools', 'local-cloud', 'dns-gateway', 'cluster-api', 'console', 'reconciler', 'admin'];
const bundlesOf = (...names) => ['bundle', ...names.map((name) => `--filter=@corral/${name}`)];

/**
 * What runs, and what turbo has to build for it. `isHere`: in this process, because it runs for hours, and a second process
 * would take 40 MiB only to wait for it.
 */
const commands = {
  start: { program: 'tools/programs/start/main.js', build: bundlesOf(...PARTS_OF_START), isHere: true },
  test: { program: 'tools/dist/test/main.js', build: EVERYTHING },
  'test:long': { program: 'tools/dist/long/main.js', build: EVERYTHING },
  conformance: { program: 'tools/dist/conformance/main.js', build: EVERYTHING },
  bench: { program: 'tools/dist/bench/main.js', build: EVERYTHING },
  release: { program: 'tools/dist/release/main.js', build: ['build', '--filter=@corral/tools'] },
  screenshots: { program: 'tools/dist/screenshots/main.js', build: EVERYTHING },
  admin: { program: 'apps/admin/dist/main.js', build: bundlesOf('admin') },
  corral: { program: 'apps/cli/dist/main.js', build: bundlesOf('cli') },
  migration: { program: 'packages/database/dist/migrate/main.js', build: ['build', '--filter=@corral/database'] },
  build: { build: EVERYTHING },
  generate: { build: ['generate'] },
  docs: {
    shell:
      'npm --prefix tools/docs-site ci --ignore-scripts --no-audit --no-fund --silent && npm --prefix tools/docs-site run build',
  },
  lint: { shell: 'biome ci .' },
  format: { shell: 'biome check --write .' },
  types: {
    build: ['build'],
    shell: 'tsc -p tsconfig.types.json && tsc -p tests/tsconfig.json --noEmit && tsc -p apps/console/tsconfig.json',
  },
};

const [name, ...args] = process.argv.slice(2);
if (name === 'reset') {
  reset();
} else if (!Object.hasOwn(commands, name)) {
  fail(`Usage: node tools/run.mjs ${[...Object.keys(commands), 'reset'].join('|')} [arguments]`);
} else if (!isPinned(process.versions.node)) {
  goOnWithPinned();
} else {
  const { program, build: tasks, shell, isHere = false } = commands[name];
  if (name === 'start') refuseWhileStarted('`npm start` is already running in this folder');
  install();
  // `.ci/run` builds once, and then runs several of these at a time.
  if (tasks && process.env.CORRAL_IS_BUILT === undefined) build(tasks);
  if (program) refuseMissing(program);
  if (isHere) await runHere(program);
  else if (program) handOver(process.execPath, ['--enable-source-maps', inRoot(program), ...args]);
  else if (shell) handOver('sh', ['-c', shell]);
}

function fail(message) {
  say(message);
  process.exit(1);
}

/** All below gets it too: turbo, pnpm and Jest look for `node` on the path. */
function goOnWithPinned() {
  let node;
  try {
    node = findPinnedNode(installEnvironment(), say);
  } catch (error) {
    fail(error.message);
  }
  process.env.PATH = `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`;
  handOver(node, [import.meta.filename, name, ...args]);
}

/** Installs when `node_modules` is missing, or was made from another lock file or kind of machine. */
function install() {
  const stamp = inRoot('node_modules', '.corral-installed');
  const lockFile = readFileSync(inRoot('pnpm-lock.yaml'));
  const wanted = createHash('sha256').update(lockFile).update(`${process.platform} ${process.arch}`).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const { devDependencies } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
  say('Installing dependencies (the first time takes a minute or two) …');
  const pnpm = ['--yes', `pnpm@${devDependencies.pnpm}`, 'install', '--frozen-lockfile', '--reporter=append-only'];
  quietly(
    process.platform === 'win32' ? 'npx.cmd' : 'npx',
    pnpm,
    installEnvironment(),
    `The dependencies could not be installed. ${networkAdvice}`,
  );
  writeFileSync(stamp, wanted);
}

function build(tasks) {
  const turbo = inRoot('node_modules', '.bin', 'turbo');
  quietly(turbo, ['run', ...tasks, '--output-logs=errors-only'], environment(), 'The build failed.');
}

/** Runs a command and shows its output only if it fails. */
function quietly(command, commandArgs, env, failure) {
  const { status, signal, stdout, stderr, error } = spawnSync(command, commandArgs, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (status === 0) return;
  if (signal === 'SIGINT' || status === 130) process.exit(130);
  say(`${stdout ?? ''}${stderr ?? ''}`.trimEnd());
  fail(`${failure} Command: ${command} ${commandArgs.join(' ')}${error ? ` (${error.message})` : ''}`);
}

function environment() {
  const env = {
    ...process.env,
    PATH: `${inRoot('node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`,
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
  };
  // `npm run -s` would also silence the npm that installs, and so hide why that failed.
  delete env.npm_config_loglevel;
  // `npx --package` around this would choose the package of every npx below it.
  delete env.npm_config_package;
  // What tests start in other folders is not built yet.
  delete env.CORRAL_IS_BUILT;
  return env;
}

/** The environment of npm and pnpm. */
function installEnvironment() {
  const caches = {
    npm_config_cache: join(cacheHere, 'npm'),
    XDG_CACHE_HOME: cacheHere,
    XDG_DATA_HOME: cacheHere,
    XDG_STATE_HOME: cacheHere,
  };
  return {
    // Without a network npm would wait for more than a minute before it says so.
    npm_config_fetch_retry_mintimeout: '500',
    npm_config_fetch_retry_maxtimeout: '2000',
    ...environment(),
    // pnpm asks no questions.
    CI: 'true',
    ...(isHomeWritable() ? {} : caches),
  };
}

function isHomeWritable() {
  try {
    accessSync(homedir(), fileModes.W_OK);
    return true;
  } catch {
    return false;
  }
}

function refuseMissing(program) {
  if (existsSync(inRoot(program))) return;
  fail(`${program} is missing: \`npm run ${name}\` is not available in this version.`);
}

/** Runs `npm start`, which ends on SIGTERM. */
async function runHere(program) {
  const env = environment();
  for (const variable of Object.keys(process.env)) if (!(variable in env)) delete process.env[variable];
  Object.assign(process.env, env);
  noteStarted();
  process.on('exit', () => rmSync(startedFile(), { force: true }));
  whenAbandoned(() => process.kill(process.pid, 'SIGTERM'));
  await import(pathToFileURL(inRoot(program)).href);
}

function handOver(command, commandArgs) {
  const child = spawn(command, commandArgs, { env: environment(), stdio: 'inherit' });
  // At a terminal Ctrl-C reaches the child without us, and a second one would mean "at once".
  const forwarded = process.stdin.isTTY ? ['SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => forwarded.includes(signal) && child.kill(signal));
  }
  whenAbandoned(() => child.kill('SIGTERM'));
  child.on('error', (error) => fail(error.message));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/** npm and its shell end immediately on a signal, and neither passes it on. */
function whenAbandoned(act) {
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    act();
  }, 500);
  timer.unref();
}

/** Those who wait for us: our parent and, when that is the shell of an npm script, npm. */
function ancestors() {
  const parent = process.ppid;
  if (!process.env.npm_lifecycle_event) return `${parent}`;
  try {
    const [, grandparent] = readFileSync(`/proc/${parent}/stat`, 'utf8').split(') ').at(-1).split(' ');
    return `${parent} ${grandparent}`;
  } catch {
    return `${parent}`; // no Linux
  }
}

function startedFile() {
  return inRoot('.corral', 'start.pid');
}

function noteStarted() {
  mkdirSync(inRoot('.corral'), { recursive: true, mode: 0o700 });
  writeFileSync(startedFile(), String(process.pid));
}

function refuseWhileStarted(reason) {
  if (!existsSync(startedFile())) return;
  const pid = Number(readFileSync(startedFile(), 'utf8'));
  if (isOurs(pid))
    fail(`${reason} (process ${pid}). Stop it first, with Ctrl-C in its terminal or with \`kill ${pid}\`.`);
}

/** Whether a number is that of our program: after a crash of the machine it may be another one's. */
function isOurs(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  try {
    return /run\.mjs\0start\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return true; // no Linux, or not ours to read: believe it
  }
}

/** Removes the state of `npm start`. */
function reset() {
  const folder = inRoot('.corral');
  if (!existsSync(folder)) return say('There is nothing to reset.');
  refuseWhileStarted('`npm start` is running in this folder');
  removeWithLinks(folder);
  say('Removed .corral/. The next `npm start` creates a new installation.');
}

/** Removes a folder and what a link in it leads to: Postgres may lie outside of the checkout. */
function removeWithLinks(folder) {
  for (const entry of readdirSync(folder)) {
    const path = join(folder, entry);
    if (lstatSync(path).isSymbolicLink() && existsSync(path))
      rmSync(realpathSync(path), { recursive: true, force: true });
  }
  rmSync(folder, { recursive: true, force: true });
}
