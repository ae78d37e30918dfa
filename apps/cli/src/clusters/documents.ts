import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { apiVersion, clusterSchema, isClusterName, isObject } from '@corral/contracts';
import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { usageError } from '../exit-codes.js';
import { unquotedTexts } from './unquoted-texts.js';

/** A cluster as a file declares it. */
export interface ClusterDocument {
  readonly name: string;
  /** Sent as it is, but for what is resolved: the API checks it. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** Fields that are left to others, as paths below `spec`. */
  readonly ignore?: readonly string[];
  /** In place of a version: the least that it may be. */
  readonly minKubernetesVersion?: string;
  /** Its place, such as `clusters.yaml, document 2`. */
  readonly source: string;
}

/** A document that declares no cluster, with a sentence that says why. */
export interface BadDocument {
  readonly source: string;
  readonly problem: string;
}

const FILE_BYTES_MAX = 1_048_576;
const FILES_MAX = 500;
const DOCUMENTS_MAX = 1_000;
const ALIASES_MAX = 1_000;
const STRANGERS_SHOWN = 5;
const fileName = /\.(ya?ml|json)$/i;

/**
 * Reads the clusters that files declare, in YAML or JSON, several in one file or in a list.
 *
 * @param paths of files and folders; `-` for standard input. Of a folder, its `.yaml`, `.yml` and `.json` files
 * @throws CliError that names the file and what is wrong, if it cannot be read or clusters are declared twice
 */
export async function readDocuments(
  paths: readonly string[],
  readInput: () => Promise<Uint8Array>,
  team: string,
): Promise<(ClusterDocument | BadDocument)[]> {
  const documents: (ClusterDocument | BadDocument)[] = [];
  const seen = new Map<string, string>();
  for (const path of (await Promise.all(paths.map(filesAt))).flat()) {
    const [source, bytes] = path === '-' ? ['standard input', await readInput()] : [path, await bytesAt(path)];
    for (const document of parseDocuments(textOf(bytes, source), source, team)) {
      documents.push(document);
      if ('problem' in document) continue;
      const before = seen.get(document.name);
      if (before !== undefined) throw usageError(`Cluster ${document.name} is in ${before} and in ${document.source}.`);
      seen.set(document.name, document.source);
    }
  }
  if (documents.length === 0) throw usageError(`${paths.join(', ')}: there is no cluster in it.`);
  if (documents.length > DOCUMENTS_MAX) throw usageError(`More than ${DOCUMENTS_MAX} clusters are too many at once.`);
  return documents;
}

export function parseDocuments(text: string, source: string, team: string): (ClusterDocument | BadDocument)[] {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { prettyErrors: true, merge: true, lineCounter: lines });
  const documents = 'empty' in parsed ? [] : parsed;
  return documents.flatMap((document, at) => {
    const where = documents.length === 1 ? source : `${source}, document ${at + 1}`;
    const bad = (problem: string): BadDocument => ({ source: where, problem: `${where}: ${problem}.` });
    // A tag that nobody resolves is a warning, and would be dropped.
    const [error] = [...document.errors, ...document.warnings];
    if (error !== undefined) return [bad((error.message.split('\n')[0] as string).replace(/:$/, ''))];
    let body: unknown;
    try {
      body = document.toJS({ maxAliasCount: ALIASES_MAX });
    } catch (thrown) {
      // An alias without an anchor, or so many that it has no end.
      return [bad((thrown as Error).message)];
    }
    if (body === null || body === undefined) return [];
    const flaw = flawInJson(body);
    if (flaw !== null) return [bad(flaw)];
    return clustersOf(body, { where, file: source, team, document, lines });
  });
}

interface Place {
  readonly where: string;
  readonly file: string;
  readonly team: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** One, or those of a list: `kind: List` as kubectl knows it, or what `clusters list -o yaml` prints. */
function clustersOf(body: unknown, place: Place): (ClusterDocument | BadDocument)[] {
  const list = listIn(body);
  if (list === null) return [clusterOf(body, [], place)];
  const { items, path } = list;
  const { metadata } = body as { readonly metadata?: unknown };
  const unknown =
    path.length === 0
      ? []
      : [
          ...strangersIn(body as object, ['apiVersion', 'kind', 'metadata', 'items']),
          // kubectl writes them.
          ...strangersIn(isObject(metadata) ? metadata : {}, ['resourceVersion', 'selfLink'], 'metadata.'),
        ];
  if (unknown.length > 0) return [badOf(place, strangerText(unknown, 'a list'))];
  return items.map((item, at) => clusterOf(item, [...path, at], { ...place, where: `${place.where}, item ${at + 1}` }));
}

function listIn(body: unknown): { readonly items: readonly unknown[]; readonly path: readonly string[] } | null {
  if (Array.isArray(body)) return { items: body, path: [] };
  if (!isObject(body) || body.kind !== 'List' || !Array.isArray(body.items)) return null;
  return { items: body.items, path: ['items'] };
}

const { properties: members } = clusterSchema;

/** @param path of the cluster in the document */
function clusterOf(body: unknown, path: readonly (string | number)[], place: Place): ClusterDocument | BadDocument {
  const wrong = (what: string) => badOf(place, what);
  if (!isObject(body)) return wrong('it has to be an object with apiVersion, kind, metadata and spec');
  const { apiVersion: version, kind, metadata, spec } = body;
  if (kind !== 'Cluster') return wrong(`kind has to be Cluster${typeof kind === 'string' ? `, and is ${kind}` : ''}`);
  if (version !== apiVersion) return wrong(`apiVersion has to be ${apiVersion}`);
  const unknown = [
    ...strangersIn(body, Object.keys(members)),
    ...strangersIn(isObject(metadata) ? metadata : {}, Object.keys(members.metadata.properties), 'metadata.'),
  ];
  if (unknown.length > 0) return wrong(strangerText(unknown, 'a cluster'));
  const [unquoted] = unquotedTexts(body, { ...place, path });
  if (unquoted !== undefined) {
    const { line, name, text } = unquoted;
    const where = line === null ? place.where : `${place.file}:${line}`;
    return badOf({ where }, `${name} has to be text. Quote it${text === null ? '' : `: "${text}"`}`);
  }
  const name = isObject(metadata) ? metadata.name : undefined;
  if (typeof name !== 'string' || !isClusterName(name)) return wrong('metadata.name has to be the name of a cluster');
  // A document that was read from another team would become a cluster of this one.
  const itsTeam = isObject(metadata) ? metadata.team : undefined;
  if (itsTeam !== undefined && itsTeam !== place.team)
    return wrong(`metadata.team is ${String(itsTeam)}, and you act for ${place.team}`);
  if (!isObject(spec)) return wrong('spec has to be an object');
  const { minKubernetesVersion, ...declared } = spec;
  const flaw = flawInExtension(body[EXTENSION]) ?? flawInLeast(minKubernetesVersion, declared.kubernetesVersion);
  if (flaw !== null) return wrong(flaw);
  const { ignore } = (body[EXTENSION] ?? {}) as Pick<ClusterDocument, 'ignore'>;
  return {
    name,
    spec: declared,
    source: place.where,
    ...(ignore === undefined ? {} : { ignore }),
    ...(minKubernetesVersion === undefined ? {} : { minKubernetesVersion: minKubernetesVersion as string }),
  };
}

/** What the command does and the API does not know. */
const EXTENSION = 'x-corral';
const IGNORED_MAX = 100;
const ignorable = /^[\w*-]+(\/[\w*-]+)*$/;

function flawInExtension(extension: unknown): string | null {
  if (extension === undefined) return null;
  const example = `${EXTENSION} has a list of fields, such as {ignore: [nodePools/*/maximum]}`;
  if (!isObject(extension) || Object.keys(extension).some((name) => name !== 'ignore')) return example;
  const { ignore } = extension;
  if (!Array.isArray(ignore) || ignore.length > IGNORED_MAX) return example;
  return ignore.every((path) => typeof path === 'string' && ignorable.test(path)) ? null : example;
}

function flawInLeast(least: unknown, version: unknown): string | null {
  if (least === undefined) return null;
  if (version !== undefined) return 'spec has kubernetesVersion and minKubernetesVersion. Keep one of them';
  return typeof least === 'string' && /^\d{1,3}(\.\d{1,3}){1,2}$/.test(least)
    ? null
    : 'spec.minKubernetesVersion has to be a version such as "1.34" or "1.34.2"';
}

const badOf = ({ where }: Pick<Place, 'where'>, problem: string): BadDocument => ({
  source: where,
  problem: `${where}: ${problem}.`,
});

/** Members that mean nothing, but for those that begin with `x-`: they contain what merge keys refer to. */
const strangersIn = (value: object, known: readonly string[], prefix = ''): string[] =>
  Object.keys(value)
    .filter((name) => !known.includes(name) && !(prefix === '' && name.startsWith('x-')))
    .map((name) => prefix + name);

const strangerText = (names: readonly string[], what: string): string =>
  `${what} has no ${names.slice(0, STRANGERS_SHOWN).join(', ')}. Remove what has no meaning here`;

/** Why JSON cannot have it: instead of such a number it would have null, which takes a default. */
function flawInJson(body: unknown): string | null {
  let hasOddNumber = false;
  try {
    JSON.stringify(body, (_name, value: unknown) => {
      hasOddNumber ||= typeof value === 'number' && !Number.isFinite(value);
      return value;
    });
  } catch {
    return 'it contains itself';
  }
  return hasOddNumber ? 'it has a number that is infinite or none' : null;
}

async function filesAt(path: string): Promise<string[]> {
  if (path === '-') return ['-'];
  const found = await stat(path).catch(unreadable(path));
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path).catch(unreadable(path))).filter((name) => fileName.test(name)).sort();
  if (names.length > FILES_MAX) throw usageError(`${path} has more than ${FILES_MAX} files.`);
  return names.map((name) => join(path, name));
}

async function bytesAt(path: string): Promise<Uint8Array> {
  const { size } = await stat(path).catch(unreadable(path));
  if (size > FILE_BYTES_MAX) throw usageError(`${path} is larger than 1 MiB.`);
  return readFile(path).catch(unreadable(path));
}

/** Nothing is replaced: a wrong letter would be declared. */
function textOf(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageError(`${source} is not UTF-8. Save it as UTF-8.`);
  }
}

const unreadable =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw usageError(`${path} cannot be read: ${error.code}.`);
  };
