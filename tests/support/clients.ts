import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { builtFile } from './program.js';
import { type Command, runCommand } from './run-command.js';

/** A client to run, or why there is none on this machine. */
export type Client =
  | { readonly kind: 'found'; readonly command: readonly string[] }
  | { readonly kind: 'missing'; readonly why: string };

const CLI = { module: 'github.com/hetznercloud/cli', version: 'v1.67.0' };
const BUILD_MS = 240_000;

const found = (...command: string[]): Client => ({ kind: 'found', command });
const missing = (why: string): Client => ({ kind: 'missing', why });

/** The hcloud CLI: `HCLOUD_CLI`, else `hcloud` on PATH, else built with Go. */
export async function hcloudCli(env: NodeJS.ProcessEnv = process.env): Promise<Client> {
  if (env.HCLOUD_CLI) return found(env.HCLOUD_CLI);
  if (await works(['hcloud', 'version'])) return found('hcloud');
  if (!(await works(['go', 'version']))) return missing('neither hcloud nor Go is installed');
  return made(`hcloud-cli-${CLI.version}`, 'hcloud', async (folder) => {
    await writeFile(join(folder, 'go.mod'), `module corral.test/cli\n\ngo 1.24\n`);
    const tool = `${CLI.module}/cmd/hcloud`;
    return (
      (await attempt(['go', 'get', `${tool}@${CLI.version}`], folder)) ??
      (await attempt(['go', 'build', '-o', 'hcloud', tool], folder))
    );
  });
}

/** The program of `clients/hcloud-go`. */
export const hcloudGo = (): Promise<Client> => goProgram('hcloud-go');

/** The program of `clients/lego`. */
export const lego = (): Promise<Client> => goProgram('lego');

async function goProgram(name: string): Promise<Client> {
  if (!(await works(['go', 'version']))) return missing('Go is not installed');
  const source = builtFile(`tests/clients/${name}`);
  return made(`${name}-${await hashOf(source, ['go.sum', 'main.go'])}`, 'walk', async (folder) => {
    await cp(source, folder, { recursive: true });
    return attempt(['go', 'build', '-o', 'walk', '.'], folder);
  });
}

/** The program of `clients/hcloud-python`. */
export const hcloudPython = (): Promise<Client> => pythonProgram('hcloud-python');

/** The program of `clients/lexicon`. */
export const lexicon = (): Promise<Client> => pythonProgram('lexicon');

/** The fuzzer of OpenAPI documents, as `python -m schemathesis.cli`. */
export async function schemathesis(): Promise<Client> {
  const python = await pythonEnvironment('schemathesis', { atLeast: [3, 10] });
  return python.kind === 'missing' ? python : found(...python.command, '-m', 'schemathesis.cli');
}

/** With the library in an environment of its own. */
async function pythonProgram(name: string): Promise<Client> {
  const python = await pythonEnvironment(name);
  return python.kind === 'missing' ? python : found(...python.command, builtFile(`tests/clients/${name}/walk.py`));
}

/** A Python with what `clients/<name>/requirements.txt` lists. */
async function pythonEnvironment(name: string, { atLeast = [3, 0] as [number, number] } = {}): Promise<Client> {
  const check = `import ensurepip, venv, sys; sys.exit(sys.version_info < (${atLeast.join(', ')}))`;
  if (!(await works(['python3', '-c', check])))
    return missing(`Python ${atLeast[1] === 0 ? '3' : `${atLeast.join('.')} or newer`} with venv is not installed`);
  const source = builtFile(`tests/clients/${name}`);
  const requirements = join(source, 'requirements.txt');
  const environment = `${name}-${await hashOf(source, ['requirements.txt'])}`;
  return made(environment, join('bin', 'python'), async (folder) => {
    const pip = [join(folder, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    return (
      (await attempt(['python3', '-m', 'venv', folder], folder)) ??
      (await attempt([...pip, '--requirement', requirements], folder))
    );
  });
}

/**
 * Makes something once per machine and user, in a folder that later runs find again. What was not finished is not
 * kept.
 *
 * @param file what to run of it
 * @param make fills the folder; gives a sentence when it could not
 */
async function made(name: string, file: string, make: (folder: string) => Promise<string | null>): Promise<Client> {
  const cache = join(tmpdir(), `corral-clients-${userInfo().username}`);
  await mkdir(cache, { recursive: true, mode: 0o700 });
  if ((await stat(cache)).uid !== userInfo().uid) return missing(`${cache} belongs to somebody else`);
  const place = join(cache, name);
  if (existsSync(join(place, file))) return found(join(place, file));
  const folder = await mkdtemp(join(cache, 'making-'));
  const failure = await make(folder);
  if (failure === null) await rename(folder, place).catch(() => undefined); // another run was first
  await rm(folder, { recursive: true, force: true });
  return failure === null ? found(join(place, file)) : missing(failure);
}

async function hashOf(folder: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(join(folder, file)));
  return hash.digest('hex').slice(0, 12);
}

/** Whether a command is installed: it runs and ends with 0. */
export const works = async (command: Command): Promise<boolean> =>
  (await runCommand(command, { timeoutMs: 20_000 })).code === 0;

/** @returns null when the command did its work, else what it said, in one line */
async function attempt(command: Command, cwd: string): Promise<string | null> {
  const env = { GOTOOLCHAIN: 'local', GOFLAGS: '' }; // no newer Go is fetched
  const { code, stdout, stderr } = await runCommand(command, { cwd, env, timeoutMs: BUILD_MS });
  if (code === 0) return null;
  const said = `${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '';
  return `\`${command.slice(0, 3).join(' ')} …\` failed: ${said.trim().slice(0, 200).replace(/\.+$/, '')}`;
}
