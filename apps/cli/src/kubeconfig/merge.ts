import { open, readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Document, isMap, isSeq, parse, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { usageError } from '../exit-codes.js';
import { makeFolderOf, saveFile } from '../settings/save-file.js';
import type { Kubeconfig, Named } from './issue.js';
import { type Existing, refuseTakenNames } from './names.js';

const lists = ['clusters', 'users', 'contexts'] as const;
const BYTES_MAX = 4_194_304;

interface MergeOptions {
  readonly isCurrent: boolean;
  /** Other files that kubectl reads after this one, whose names count as well. */
  readonly others?: readonly string[];
}

/**
 * Puts the entries of a kubeconfig into the text of another one: entries of the same name are replaced if they are of the same
 * cluster, everything else stays, comments included.
 *
 * @throws CliError for a text that is no kubeconfig, or a name that is one of another cluster; nothing is lost then
 */
export function mergeKubeconfig(text: string, added: Kubeconfig, { isCurrent, others = [] }: MergeOptions): string {
  const document: Document = parseDocument(text.trim() === '' ? 'apiVersion: v1\nkind: Config\n' : text);
  if (document.errors.length > 0 || !isMap(document.contents))
    throw usageError('The existing kubeconfig is not valid. Correct it first.');
  for (const list of lists) {
    const existing = document.get(list);
    if (existing === undefined || existing === null) document.set(list, document.createNode([]));
    if (!isSeq(document.get(list))) throw usageError(`The existing kubeconfig is not valid: ${list} has to be a list.`);
  }
  refuseTakenNames(existingIn([contentOf(document), ...others.map(parsed)]), added);
  for (const list of lists) {
    const items = document.get(list) as YAMLSeq;
    for (const entry of added[list]) {
      const at = items.items.findIndex((item) => isMap(item) && item.get('name') === entry.name);
      if (at >= 0) items.set(at, document.createNode(replacing((items.items[at] as YAMLMap).toJS(document), entry)));
      else items.add(document.createNode(entry));
    }
    // An empty list is written as `[]`, and would keep that form.
    items.flow = false;
  }
  if (isCurrent || !document.get('current-context')) document.set('current-context', added['current-context']);
  return document.toString();
}

/** People add settings of their own to a context, such as its namespace. */
const replacing = (old: Named, entry: Named): Named =>
  entry.context === undefined ? entry : { ...entry, context: { ...(old.context ?? {}), ...entry.context } };

function existingIn(configs: readonly unknown[]): Existing {
  const entriesOf = (list: (typeof lists)[number]) =>
    configs.flatMap((config) => {
      const entries = (config as Record<string, unknown> | null)?.[list];
      return Array.isArray(entries)
        ? (entries as (Named | null)[]).filter((entry): entry is Named => typeof entry?.name === 'string')
        : [];
    });
  return { clusters: entriesOf('clusters'), users: entriesOf('users'), contexts: entriesOf('contexts') };
}

function contentOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    // An alias without an anchor, for example.
    throw usageError('The existing kubeconfig is not valid. Correct it first.');
  }
}

/** @returns null for a text that kubectl cannot read either */
function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/** The file that kubectl writes to. */
export const kubeconfigPath = (env: NodeJS.ProcessEnv): string => kubeconfigPaths(env)[0] as string;

/** The files that kubectl reads, at least one. */
function kubeconfigPaths(env: NodeJS.ProcessEnv): string[] {
  const paths = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  return paths.length > 0 ? paths : [join(env.HOME || homedir(), '.kube', 'config')];
}

const nothing: Kubeconfig = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [],
  users: [],
  contexts: [],
  'current-context': '',
};

/** Asks for no credential that a broken file could not take: few are issued. @throws CliError */
export async function checkFile(env: NodeJS.ProcessEnv): Promise<void> {
  mergeKubeconfig(await textAt(kubeconfigPath(env)), nothing, { isCurrent: false });
}

/** @returns the path of the file @throws CliError when it cannot be changed */
export async function mergeIntoFile(
  env: NodeJS.ProcessEnv,
  added: Kubeconfig,
  options: { readonly isCurrent: boolean },
): Promise<string> {
  const [path = '', ...paths] = kubeconfigPaths(env);
  await withLock(path, async () => {
    const [text = '', ...others] = await Promise.all([path, ...paths].map(textAt));
    await saveFile(path, mergeKubeconfig(text, added, { ...options, others }));
  });
  return path;
}

async function textAt(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw usageError(`${path} cannot be read: ${error.code}.`);
  });
  if (text.length > BYTES_MAX) throw usageError(`${path} is larger than 4 MiB.`);
  return text;
}

/** kubectl keeps others out by the same file. */
async function withLock(path: string, work: () => Promise<void>): Promise<void> {
  const lock = `${path}.lock`;
  await makeFolderOf(path);
  const handle = await open(lock, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      error.code === 'EEXIST'
        ? `${lock} says that another program is changing the file. Try again, and remove it if there is none.`
        : `${path} cannot be changed: ${error.code}.`,
    );
  });
  try {
    await work();
  } finally {
    await handle.close();
    await rm(lock, { force: true });
  }
}
