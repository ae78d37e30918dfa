import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const NAME = /^corral-\d{8}T\d{6}Z\.backup(\.partial)?$/;

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
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort();
  const complete = names.filter((name) => name.endsWith('.backup'));
  const kept = new Set(complete.slice(-keep));
  const newest = complete.at(-1) ?? '';
  // A partial file that is newer is of a backup that runs at the same time.
  const removed = names.filter((name) => !kept.has(name) && name < newest);
  await Promise.all(removed.map((name) => rm(join(folder, name), { force: true })));
  return removed;
}
