import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

/** The folder with the migrations of this version: `MIGRATIONS_DIR`, what a single file contains, or that of the archive or the checkout. */
export function findMigrations(env: NodeJS.ProcessEnv): string {
  if (env.MIGRATIONS_DIR) return env.MIGRATIONS_DIR;
  if (isSea()) return unpackMigrations();
  const ofArchive = fileURLToPath(new URL('../migrations', import.meta.url));
  return existsSync(ofArchive) ? ofArchive : fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));
}

/** They are gone when the process ends. */
function unpackMigrations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'corral-migrations-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const files = JSON.parse(getAsset('migrations.json', 'utf8')) as Record<string, string>;
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
