import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterOpenApi, dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { builtFile } from '../system/program.js';
import { type Client, pythonEnvironment } from './client-programs.js';
import { type Command, runCommand } from './run-command.js';

/* Clients that generators of other people make of both OpenAPI documents. Each throws for a warning or a mistake. */

const TIMEOUT_MS = 300_000;
const documents = {
  cluster: () => clusterOpenApi('https://clusters.example.org'),
  dns: () => dnsOpenApi('https://dns.example.org/v1', dnsRoutes),
} as const;
const names = Object.keys(documents) as (keyof typeof documents)[];

/** @returns all that the command printed @throws Error with it, if the command fails */
async function output(command: Command): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, { timeoutMs: TIMEOUT_MS });
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

/** Writes the documents. @returns the file of each */
async function writeDocuments(folder: string): Promise<Record<keyof typeof documents, string>> {
  const files = names.map((name) => [name, join(folder, `${name}.json`)] as const);
  for (const [name, file] of files) await writeFile(file, JSON.stringify(documents[name]()));
  return Object.fromEntries(files) as Record<keyof typeof documents, string>;
}

/** The Python of the generator. */
export const pythonGenerator = (): Promise<Client> => pythonEnvironment('generated-python', { atLeast: [3, 10] });

/**
 * A client of openapi-python-client, byte-compiled, with the program of `clients/generated-python`.
 *
 * @param folder must be in `PYTHONPATH` of the program
 */
export async function pythonClient(python: Client, folder: string): Promise<Client> {
  if (python.kind === 'missing') return python;
  const source = builtFile('tests/clients/generated-python');
  const files = await writeDocuments(folder);
  for (const name of names) {
    const paths = ['--path', files[name], '--output-path', join(folder, `${name}_client`)];
    const options = ['--meta', 'none', '--fail-on-warning', '--config', join(source, 'generator.yml')];
    await output([...python.command, '-m', 'openapi_python_client', 'generate', ...paths, ...options]);
  }
  await output([...python.command, '-m', 'compileall', '-q', folder]);
  await cp(join(source, 'walk.py'), join(folder, 'walk.py'));
  return { kind: 'found', command: [...python.command, join(folder, 'walk.py')] };
}

/** Checks the documents against the definition of OpenAPI. */
export async function validateDocuments(python: Client, folder: string): Promise<void> {
  const files = Object.values(await writeDocuments(folder));
  if (python.kind === 'found') await output([...python.command, '-m', 'openapi_spec_validator', ...files]);
}
