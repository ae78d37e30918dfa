import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const COMPLETE = /^corral-\d{8}T\d{6}Z\.backup$/;
const PARTIAL = /^corral-\d{8}T\d{6}Z\.backup\.partial$/;
/** A partial file to which nothing was written for so long is of a backup that was interrupted; others may still run. */
const INTERRUPTED_AFTER_MS = 86_400_000;

export const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isDirectory() ?? false;

/** The file of a backup in a folder. Names sort by time. */
export const fileAt = (folder: string, time: Date): string =>
  join(folder, `corral-${time.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.backup`);

/**
 * Removes all but the newest backups of a folder, and what interrupted backups left. Other files stay.
 *
 * @returns names of the removed files
 */
export async function removeOldBackups(folder: string, keep: number): Promise<string[]> {
  const names = (await readdir(folder)).sort();
  const complete = names.filter((name) => COMPLETE.test(name));
  const partial = names.filter((name) => PARTIAL.test(name));
  const before = Date.now() - INTERRUPTED_AFTER_MS;
  const ages = await Promise.all(
    partial.map(async (name) => ({ name, file: await stat(join(folder, name)).catch(() => null) })),
  );
  const interrupted = ages.filter(({ file }) => file !== null && file.mtimeMs < before).map(({ name }) => name);
  const removed = [...complete.slice(0, -keep), ...interrupted];
  await Promise.all(removed.map((name) => rm(join(folder, name), { force: true })));
  return removed;
}
