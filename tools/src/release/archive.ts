import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from './run.js';

/** Files of installers and package managers that say when and where they ran. */
const TRACES = ['.modules.yaml', '.pnpm-workspace-state*.json', '.package-map.json', 'lock.yaml'];

export interface ArchiveOptions {
  /** The folder that contains `root`. */
  readonly parent: string;
  /** The one folder in the archive. */
  readonly root: string;
  readonly file: string;
  /** Seconds since 1970: the time of every entry. */
  readonly epoch: number;
}

/** Packs a folder so that equal content makes equal bytes: sorted, of nobody, at one time. It needs the tar of GNU. */
export function archive({ parent, root, file, epoch }: ArchiveOptions): void {
  run(
    'tar',
    [
      '--sort=name',
      `--mtime=@${epoch}`,
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mode=go=rX,u+rw,a-s',
      '--format=posix',
      '--pax-option=delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f',
      ...TRACES.map((name) => `--exclude=${name}`),
      '--use-compress-program=gzip -n',
      '--create',
      `--file=${file}`,
      root,
    ],
    { cwd: parent },
  );
}

/** Writes `SHA256SUMS` of all files in a folder, as `sha256sum --check` reads it. */
export async function writeChecksums(folder: string): Promise<void> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
  const lines: string[] = [];
  for (const file of files) lines.push(`${await sha256Of(join(folder, file))}  ${file}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
