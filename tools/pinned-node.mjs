/**
 * The Node.js that everything here runs on: the release that `.node-version` names, or a later one of its major. This file has no
 * dependencies, and works on every Node.js that `engines` of `package.json` allows.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);
const pinned = readFileSync(join(root, '.node-version'), 'utf8').trim();
const { platform, arch } = process;
/** What the package `node` of the npm registry installs on this kind of machine: the program itself. */
const library = `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
const advice = `You can also install Node.js ${pinned} or a later ${pinned.split('.')[0]}.x: https://nodejs.org/en/download`;

export const networkAdvice = 'Check the network, and the registry that `npm config get registry` names.';

/** The cache of users whose home cannot be written. */
export const cacheHere = join(root, '.cache');

const HOUR_MS = 3_600_000;

export function isPinned(version) {
  const [[major, minor, patch], [majorPinned, minorPinned, patchPinned]] = [version, pinned].map((text) =>
    text.split('.').map(Number),
  );
  if (major !== majorPinned) return false;
  return minor > minorPinned || (minor === minorPinned && patch >= patchPinned);
}

/** Lists where what is fetched stays: for the user or, where that cannot be written, for this checkout. */
function cacheFolders() {
  return [join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'corral'), cacheHere];
}

/** Creates the folder if it can. */
function isWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    rmSync(mkdtempSync(join(folder, 'try-')), { recursive: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * @param env the environment for npm
 * @returns the path of the pinned Node.js. The npm registry is asked for it once per user
 * @throws Error that says what to do
 */
export function findPinnedNode(env, say) {
  const folders = cacheFolders().map((folder) => join(folder, `node-${pinned}-${platform}-${arch}`));
  const kept = folders.map((folder) => join(folder, 'node')).find(runs);
  if (kept) return kept;
  say(`Fetching Node.js ${pinned} from the npm registry, once: this machine has ${process.versions.node} …`);
  const folder = folders.find(isWritable);
  if (!folder)
    throw new Error(`Node.js ${pinned} cannot be kept: ${folders.join(' and ')} are not writable. ${advice}`);
  return fetchInto(folder, env);
}

function fetchInto(folder, env) {
  removeAbandoned(folder);
  const fetching = mkdtempSync(join(folder, 'fetching-'));
  try {
    install(fetching, env);
    const fetched = join(fetching, 'node_modules', library, 'bin', 'node');
    if (!runs(fetched))
      throw new Error(`Node.js ${pinned} of the npm registry does not run on this machine. ${advice}`);
    // Whole or not at all, whatever is interrupted, and whoever else fetches it at the same time.
    renameSync(fetched, join(folder, 'node'));
  } finally {
    rmSync(fetching, { recursive: true, force: true });
  }
  return join(folder, 'node');
}

/** What was interrupted left it there. */
function removeAbandoned(folder) {
  for (const name of readdirSync(folder).filter((each) => each.startsWith('fetching-'))) {
    const path = join(folder, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
    if (Date.now() - mtimeMs > HOUR_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** npm compares what it gets with the checksum that the registry names. */
function install(folder, env) {
  const options = [
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
  ];
  const { status, signal, stdout, stderr, error } = spawnSync(
    'npm',
    ['install', `${library}@${pinned}`, `--prefix=${folder}`, '--global=false', ...options],
    { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' },
  );
  if (status === 0) return;
  if (signal === 'SIGINT' || status === 130) process.exit(130);
  const said = error ? `npm: ${error.message}` : withoutStack(`${stdout}${stderr}`);
  throw new Error(
    `${said}\nCorral runs on Node.js ${pinned}, but npm could not install ${library}@${pinned}.\n${networkAdvice}\n${advice}`,
  );
}

/** npm prints its stack and the fields of the error. */
function withoutStack(text) {
  const lines = text.trim().split('\n');
  return lines.filter((line) => !/^npm error( {2,}.*| *\}?)$/.test(line)).join('\n');
}

function runs(node) {
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout === `v${pinned}\n`;
}
