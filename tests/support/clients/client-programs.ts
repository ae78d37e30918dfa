import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { type Missing, unlessInstalled } from '@corral/testing';
import { builtFile } from '../system/program.js';
import type { Env } from '../system/system-parts.js';
import { type Command, runCommand } from './run-command.js';

/** The command of a client, or why this machine has none. */
export type Client =
  | { readonly kind: 'found'; readonly command: readonly string[] }
  | { readonly kind: 'missing'; readonly missing: Missing };

/** A build from nothing takes minutes on a slow machine. */
const BUILD_MS = 1_800_000;

const found = (...command: string[]): Client => ({ kind: 'found', command });
const missing = (what: Missing): Client => ({ kind: 'missing', missing: what });

/** Tells tests what is missing to run a client: null if it is there. */
export const missingOf = (client: Client): Missing | null => (client.kind === 'missing' ? client.missing : null);

/** The hcloud CLI: `HCLOUD_CLI`, or `hcloud` on PATH. A Go module proxy alone cannot provide what is needed to build it. */
export async function hcloudCli(env: NodeJS.ProcessEnv = process.env): Promise<Client> {
  if (env.HCLOUD_CLI) return found(env.HCLOUD_CLI);
  if (await works(['hcloud', 'version'])) return found('hcloud');
  const how = 'put hcloud on PATH, or set HCLOUD_CLI to its path';
  return missing({ what: 'the hcloud CLI', how, isRare: true });
}

/** The program of `clients/hcloud-go`. */
export const hcloudGo = (): Promise<Client> => goProgram('hcloud-go');

/** The program of `clients/lego` that solves a challenge with lego's provider. */
export const legoChallenge = (): Promise<Client> => goProgram('lego', './challenge');

/** The command of lego, with the Hetzner provider only: its other providers have hundreds of dependencies. */
export async function lego(): Promise<Client> {
  const built = await goProgram('lego', 'github.com/go-acme/lego/v5', {
    tags: 'lego_dnslight,lego_dns_hetzner',
    file: 'lego',
  });
  if (built.kind === 'missing') return built;
  const program = builtFile('tests/clients/lego/client.mjs');
  return found('env', `LEGO=${dirname(built.command[0] as string)}`, process.execPath, program);
}

/** pebble, an ACME authority for tests. */
export const pebble = (): Promise<Client> => goProgram('pebble', 'github.com/letsencrypt/pebble/v2/cmd/pebble');

/** The program of `clients/cert-manager`: its controllers, and the webhook that solves challenges. */
export const certManager = (): Promise<Client> => goProgram('cert-manager');

/**
 * Builds a program of `clients/<name>`.
 *
 * @param source the package to build; the default is that of the folder
 * @param options `tags`: of the build; `file`: the name of the program; `folder`: of the sources, if it is another one
 */
export async function goProgram(
  name: string,
  source = '.',
  {
    tags = '',
    file = 'program',
    folder = builtFile(`tests/clients/${name}`),
  }: { tags?: string; file?: string; folder?: string } = {},
): Promise<Client> {
  const needed = { what: name, how: 'install Go, and let it reach a module proxy' };
  if (!(await works(['go', 'version']))) return missing(needed);
  const sources = (await readdir(folder, { recursive: true }))
    .filter((each) => /\.(go|mod|sum|json)$/.test(each))
    .sort();
  const key = createHash('sha256').update(`${source} ${tags}`).digest('hex').slice(0, 4);
  return made(`${name}-${key}-${await hashOf(folder, sources)}`, { file, needed }, async (copy) => {
    await cp(folder, copy, { recursive: true });
    return attempt(['go', 'build', '-tags', tags, '-o', file, source], copy);
  });
}

/** The program of `clients/external-dns`. */
export const externalDns = (): Promise<Client> => goProgram('external-dns');

/** The same, if the webhook that it then starts is installed. */
export async function externalDnsWebhook(): Promise<Client> {
  // It says its version when it starts, and ends because it has no key.
  const env = { HETZNER_API_KEY: undefined, METRICS_HOST: '127.0.0.1', METRICS_PORT: '0' };
  const webhook = await installed('external-dns-hetzner-webhook', { folder: 'external-dns', env });
  return webhook.kind === 'missing' ? webhook : externalDns();
}

/** The program of `clients/dnscontrol`, which runs the command of that name. */
export const dnscontrol = (): Promise<Client> => installedClient('dnscontrol');

/** The program of `clients/ddns-updater`, which runs the command of that name. */
export const ddnsUpdater = (): Promise<Client> => installedClient('ddns-updater');

async function installedClient(name: string): Promise<Client> {
  const command = await installed(name, { folder: name, ask: ['version'] });
  return command.kind === 'missing' ? command : found(process.execPath, builtFile(`tests/clients/${name}/client.mjs`));
}

/**
 * Finds a program that no package registry has: on PATH, in the version that `programs.txt` of the folder pins.
 *
 * @param options `ask`, `env`: the arguments and variables with which it says its version, also if it then fails
 */
async function installed(
  name: string,
  { folder, ask = [], env = {} }: { folder: string; ask?: readonly string[]; env?: Env },
): Promise<Client> {
  const pins = await readFile(builtFile(`tests/clients/${folder}/programs.txt`), 'utf8');
  const version = new RegExp(`^${name} v(\\S+)`, 'm').exec(pins)?.[1] ?? '';
  const { stdout, stderr } = await runCommand([name, ...ask], { env });
  const isPinned = `${stdout}${stderr}`.includes(version);
  return isPinned ? found(name) : missing({ what: name, how: `put ${name} ${version} on PATH`, isRare: true });
}

/** The program of `clients/hcloud-rust`. */
export async function hcloudRust(): Promise<Client> {
  const needed = { what: 'hcloud-rust', how: 'install Rust 1.85 or newer, and let cargo reach crates.io' };
  if (!(await works(['cargo', '--version']))) return missing(needed);
  const source = builtFile('tests/clients/hcloud-rust');
  const place = `hcloud-rust-${await hashOf(source, ['Cargo.toml', 'Cargo.lock', 'src/main.rs'])}`;
  return made(place, { file: 'hcloud-rust', needed }, async (folder) => {
    // One folder for all builds: only the program itself is compiled again when it changes.
    const target = join(await cacheFolder(), 'hcloud-rust-target');
    const cargo = ['cargo', 'build', '--quiet', '--locked', '--manifest-path', join(source, 'Cargo.toml')];
    const failure = await attempt([...cargo, '--target-dir', target], source);
    if (failure === null) await cp(join(target, 'debug', 'hcloud-rust'), join(folder, 'hcloud-rust'));
    return failure;
  });
}

/** The program of `clients/hcloud-python`. */
export const hcloudPython = (): Promise<Client> => pythonProgram('hcloud-python');

/** The fuzzer of OpenAPI documents, as `python -m schemathesis.cli`. */
export async function schemathesis(): Promise<Client> {
  const python = await pythonEnvironment('schemathesis', { atLeast: [3, 10] });
  return python.kind === 'missing' ? python : found(...python.command, '-m', 'schemathesis.cli');
}

/** What an environment of Python needs. */
interface PythonNeeds {
  readonly atLeast?: readonly [number, number];
  /** Files of `clients/<name>` that complete the environment: a program, which gets its folder, and what that reads. */
  readonly completedBy?: readonly [string, ...string[]];
}

/** Returns the client with its library in its own environment. */
export async function pythonProgram(name: string, file = 'walk.py', needs: PythonNeeds = {}): Promise<Client> {
  const python = await pythonEnvironment(name, needs);
  return python.kind === 'missing' ? python : found(...python.command, builtFile(`tests/clients/${name}/${file}`));
}

/** Returns a Python with the packages of `clients/<name>/requirements.txt`. */
export async function pythonEnvironment(
  name: string,
  { atLeast = [3, 0], completedBy }: PythonNeeds = {},
): Promise<Client> {
  const check = `import ensurepip, venv, sys; sys.exit(sys.version_info < (${atLeast.join(', ')}))`;
  const version = atLeast[1] === 0 ? '3' : `${atLeast.join('.')} or newer`;
  const needed = { what: name, how: `install Python ${version} with venv, and let pip reach PyPI` };
  if (!(await works(['python3', '-c', check]))) return missing(needed);
  const source = builtFile(`tests/clients/${name}`);
  const requirements = join(source, 'requirements.txt');
  const environment = `${name}-${await hashOf(source, ['requirements.txt', ...(completedBy ?? [])])}`;
  return made(environment, { file: join('bin', 'python'), needed }, async (folder) => {
    const python = join(folder, 'bin', 'python');
    const pip = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    return (
      (await attempt(['python3', '-m', 'venv', folder], folder)) ??
      (await attempt([...pip, '--requirement', requirements], folder)) ??
      (completedBy && (await attempt([python, join(source, completedBy[0]), folder], folder))) ??
      null
    );
  });
}

/**
 * Creates something once per machine and user, in a folder that later runs find again. An unfinished folder is not kept.
 *
 * @param wanted `file`: the file in it to run
 * @param make fills the folder, and returns a sentence if it fails
 */
async function made(
  name: string,
  { file, needed }: { file: string; needed: Missing },
  make: (folder: string) => Promise<string | null>,
): Promise<Client> {
  const cache = await cacheFolder();
  if ((await stat(cache)).uid !== userInfo().uid)
    return missing({ ...needed, why: `${cache} belongs to another user` });
  const place = join(cache, name);
  if (existsSync(join(place, file))) return found(join(place, file));
  const folder = await mkdtemp(join(cache, 'making-'));
  const failure = await make(folder);
  if (failure === null) await rename(folder, place).catch(() => undefined); // another run was first
  await rm(folder, { recursive: true, force: true });
  return failure === null ? found(join(place, file)) : missing({ ...needed, why: failure });
}

async function cacheFolder(): Promise<string> {
  const cache = join(tmpdir(), `corral-clients-${userInfo().username}`);
  await mkdir(cache, { recursive: true, mode: 0o700 });
  return cache;
}

async function hashOf(folder: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(join(folder, file)));
  return hash.digest('hex').slice(0, 12);
}

/** The first of these programs that is not on PATH; null if all are. */
export const missingPrograms = (...names: readonly string[]): Missing | null =>
  names
    .map((name) => unlessInstalled(['which', name], { what: name, how: `put ${name} on PATH` }))
    .find((each) => each !== null) ?? null;

/** Returns whether a command is installed, which means that it runs and exits with 0. */
export const works = async (command: Command): Promise<boolean> => (await runCommand(command)).code === 0;

/** @returns null if the command succeeded, otherwise its output in one line */
async function attempt(command: Command, cwd: string): Promise<string | null> {
  const env = { GOTOOLCHAIN: 'local', GOFLAGS: '' }; // do not download a newer Go
  const { code, stdout, stderr } = await runCommand(command, { cwd, env, timeoutMs: BUILD_MS });
  if (code === 0) return null;
  const said = `${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '';
  return `\`${command.slice(0, 3).join(' ')} …\` failed: ${said.trim().slice(0, 200).replace(/\.+$/, '')}`;
}

export interface StepLine {
  readonly step: string;
  readonly [what: string]: unknown;
}

/** Runs the program of a client. @returns its output by step @throws Error with its output if it fails */
export async function walk(
  client: Client,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  { timeoutMs = 240_000 } = {},
): Promise<Record<string, StepLine>> {
  const command = client.kind === 'found' ? client.command : [];
  const { code, stdout, stderr } = await runCommand([...command, ...args], { env, timeoutMs });
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}\n${stdout}`);
  const lines = stdout.trim().split('\n');
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as StepLine).map((line) => [line.step, line]));
}
