import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { apiVersion, isClusterName } from '@corral/contracts';
import { parseAllDocuments } from 'yaml';
import { usageError } from '../exit-codes.js';

/** A cluster as a file declares it. */
export interface ClusterDocument {
  readonly name: string;
  /** Sent as it is: the API checks it. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** Where it is, such as `clusters.yaml, document 2`. */
  readonly source: string;
}

const FILE_BYTES_MAX = 1_048_576;
const FILES_MAX = 500;
const DOCUMENTS_MAX = 1_000;
const fileName = /\.(ya?ml|json)$/i;

/**
 * Reads the clusters that files declare, in YAML or JSON, several in one file.
 *
 * @param paths of files and folders; `-` for standard input. Of a folder, its `.yaml`, `.yml` and `.json` files
 * @throws CliError that names the file and what is wrong
 */
export async function readDocuments(
  paths: readonly string[],
  readInput: () => Promise<string>,
  team: string,
): Promise<ClusterDocument[]> {
  const documents: ClusterDocument[] = [];
  const seen = new Map<string, string>();
  for (const path of (await Promise.all(paths.map(filesAt))).flat()) {
    const text = path === '-' ? await readInput() : await textAt(path);
    for (const document of parseDocuments(text, path === '-' ? 'standard input' : path, team)) {
      const before = seen.get(document.name);
      if (before !== undefined) throw usageError(`Cluster ${document.name} is in ${before} and in ${document.source}.`);
      seen.set(document.name, document.source);
      documents.push(document);
    }
  }
  if (documents.length === 0) throw usageError(`${paths.join(', ')}: there is no cluster in it.`);
  if (documents.length > DOCUMENTS_MAX) throw usageError(`More than ${DOCUMENTS_MAX} clusters are too many at once.`);
  return documents;
}

/** @throws CliError */
export function parseDocuments(text: string, source: string, team: string): ClusterDocument[] {
  const parsed = parseAllDocuments(text, { prettyErrors: true });
  const documents = 'empty' in parsed ? [] : parsed;
  return documents.flatMap((document, at) => {
    const where = documents.length === 1 ? source : `${source}, document ${at + 1}`;
    const [error] = document.errors;
    if (error !== undefined) {
      const [first = ''] = error.message.split('\n');
      throw usageError(`${where}: ${first.replace(/:$/, '')}.`);
    }
    const body: unknown = document.toJS({ maxAliasCount: 100 });
    return body === null || body === undefined ? [] : [clusterOf(body, where, team)];
  });
}

function clusterOf(body: unknown, source: string, team: string): ClusterDocument {
  const wrong = (what: string) => usageError(`${source}: ${what}.`);
  if (!isObject(body)) throw wrong('it has to be an object with apiVersion, kind, metadata and spec');
  const { apiVersion: version, kind, metadata, spec } = body;
  if (kind !== 'Cluster') throw wrong(`kind has to be Cluster${typeof kind === 'string' ? `, and is ${kind}` : ''}`);
  if (version !== apiVersion) throw wrong(`apiVersion has to be ${apiVersion}`);
  const name = isObject(metadata) ? metadata.name : undefined;
  if (typeof name !== 'string' || !isClusterName(name)) throw wrong('metadata.name has to be the name of a cluster');
  // As it was read from another team: it would become a cluster of this one.
  const itsTeam = isObject(metadata) ? metadata.team : undefined;
  if (itsTeam !== undefined && itsTeam !== team)
    throw wrong(`metadata.team is ${String(itsTeam)}, and you act for ${team}`);
  if (!isObject(spec)) throw wrong('spec has to be an object');
  return { name, spec, source };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function filesAt(path: string): Promise<string[]> {
  if (path === '-') return ['-'];
  const found = await stat(path).catch(unreadable(path));
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path).catch(unreadable(path))).filter((name) => fileName.test(name)).sort();
  if (names.length > FILES_MAX) throw usageError(`${path} has more than ${FILES_MAX} files.`);
  return names.map((name) => join(path, name));
}

async function textAt(path: string): Promise<string> {
  const { size } = await stat(path).catch(unreadable(path));
  if (size > FILE_BYTES_MAX) throw usageError(`${path} is larger than 1 MiB.`);
  return readFile(path, 'utf8').catch(unreadable(path));
}

const unreadable =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw usageError(`${path} cannot be read: ${error.code}.`);
  };
