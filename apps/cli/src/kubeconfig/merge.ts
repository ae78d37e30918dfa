import { open, readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Document, isMap, isSeq, parseDocument } from 'yaml';
import { usageError } from '../exit-codes.js';
import { makeFolderOf, saveFile } from '../settings/save-file.js';
import type { Kubeconfig } from './issue.js';

const lists = ['clusters', 'users', 'contexts'] as const;
const BYTES_MAX = 4_194_304;

/**
 * Puts the entries of a kubeconfig into the text of another one: entries of the same name are replaced, everything else stays,
 * comments included.
 *
 * @throws CliError for a text that is no kubeconfig; nothing of it is lost then
 */
export function mergeKubeconfig(
  text: string,
  added: Kubeconfig,
  { isCurrent }: { readonly isCurrent: boolean },
): string {
  const document: Document = parseDocument(text.trim() === '' ? 'apiVersion: v1\nkind: Config\n' : text);
  if (document.errors.length > 0 || !isMap(document.contents))
    throw usageError('The existing kubeconfig is not valid. Correct it first.');
  for (const list of lists) {
    const existing = document.get(list);
    if (existing === undefined || existing === null) document.set(list, document.createNode([]));
    const items = document.get(list);
    if (!isSeq(items)) throw usageError(`The existing kubeconfig is not valid: ${list} has to be a list.`);
    for (const entry of added[list]) {
      const at = items.items.findIndex((item) => isMap(item) && item.get('name') === entry.name);
      if (at >= 0) items.set(at, document.createNode(entry));
      else items.add(document.createNode(entry));
    }
    // An empty list is written as `[]`, and would keep that form.
    items.flow = false;
  }
  if (isCurrent || !document.get('current-context')) document.set('current-context', added['current-context']);
  return document.toString();
}

/** The file that kubectl writes to. */
export function kubeconfigPath(env: NodeJS.ProcessEnv): string {
  const [first] = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  return first ?? join(env.HOME || homedir(), '.kube', 'config');
}

/** @returns the path of the file @throws CliError when it cannot be changed */
export async function mergeIntoFile(
  env: NodeJS.ProcessEnv,
  added: Kubeconfig,
  options: { readonly isCurrent: boolean },
): Promise<string> {
  const path = kubeconfigPath(env);
  await withLock(path, async () => {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw usageError(`${path} cannot be read: ${error.code}.`);
    });
    if (text.length > BYTES_MAX) throw usageError(`${path} is larger than 4 MiB.`);
    await saveFile(path, mergeKubeconfig(text, added, options));
  });
  return path;
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
