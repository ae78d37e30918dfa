import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '../exit-codes.js';

export interface Text {
  /** The path, or `standard input`. */
  readonly source: string;
  readonly text: string;
}

const FILE_BYTES_MAX = 1_048_576;
const FILES_MAX = 500;
const fileName = /\.(ya?ml|json)$/i;

/**
 * Reads files, and of folders their `.yaml`, `.yml` and `.json` files.
 *
 * @param paths `-` for standard input
 * @throws CliError that names the file and what is wrong, if one cannot be read
 */
export async function readTexts(paths: readonly string[], readInput: () => Promise<Uint8Array>): Promise<Text[]> {
  const texts: Text[] = [];
  for (const path of (await Promise.all(paths.map(filesAt))).flat()) {
    const [source, bytes] = path === '-' ? ['standard input', await readInput()] : [path, await bytesAt(path)];
    texts.push({ source, text: textOf(bytes, source) });
  }
  return texts;
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
