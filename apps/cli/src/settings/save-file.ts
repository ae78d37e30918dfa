import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usageError } from '../exit-codes.js';

/**
 * Replaces a file as a whole, with access for its owner only: a reader sees the old text or the new one, and an interruption
 * leaves the old one.
 */
export async function saveFile(path: string, text: string): Promise<void> {
  try {
    await makeFolderOf(path);
    // It takes over signals as soon as it is loaded, to remove what is half-written.
    const { writeFile } = await import('atomically');
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    throw usageError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

/** Creates the folder of a file, for its owner only. */
export async function makeFolderOf(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
}
