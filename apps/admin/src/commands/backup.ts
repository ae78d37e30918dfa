import { createWriteStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { applyMigrations, connectPrisma } from '@corral/database';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { ArchiveDamaged, type Manifest } from '../backup/archive-format.js';
import { fileAt, isFolder, removeOldBackups } from '../backup/backup-folder.js';
import { requireEmpty, requireKnownMigrations } from '../backup/check-target.js';
import { loadArchive } from '../backup/load-archive.js';
import { readArchive } from '../backup/read-archive.js';
import { type Written, writeArchive } from '../backup/write-archive.js';
import { OperatorError } from '../operator-error.js';
import { wholeNumber } from '../option-parsers.js';
import { readByPool } from '../owner-pool.js';
import { migrateInstallation, missingText } from './migrate.js';

const notContained =
  'It does not contain the secret keys (SECRET_KEYS), without which the provider tokens in it cannot be decrypted, nor any password.';

interface BackupOptions {
  readonly keep?: number;
  readonly count: boolean;
}

export function backupCommand(withContext: WithContext): Command {
  return new Command('backup')
    .argument('<target>', 'a new file, a folder, or - for standard output')
    .description('write all state to a new file while services run; it does not contain the secret keys')
    .option('--keep <n>', 'in a folder: keep the newest n backups and remove older ones', wholeNumber(10_000))
    .option('--no-count', 'do not count it as a backup yet: `backup-stored` does once it is in a safe place')
    .action(
      withContext(async (context, target: string, { keep, count }: BackupOptions) => {
        const folder = target !== '-' && (await isFolder(target)) ? target : null;
        if (keep !== undefined && folder === null)
          throw new OperatorError('--keep needs an existing folder as target.');
        const file = folder === null ? target : fileAt(folder, new Date());
        const { manifest, rows } = await (file === '-' ? toOutput(context) : toFile(context, file));
        if (count) await noteBackup(context, file === '-' ? 'standard output' : basename(file));
        const removed = folder === null || keep === undefined ? [] : await removeOldBackups(folder, keep);
        const { takenAt, tables } = manifest;
        const said = `Backup of ${takenAt}: ${rows} rows of ${tables.length} tables.\n${notContained}\n`;
        if (file === '-') context.progress(said);
        else context.print({ file, takenAt, tables: tables.length, rows, removed, containsSecretKeys: false }, said);
      }),
    );
}

export function backupStoredCommand(withContext: WithContext): Command {
  return new Command('backup-stored')
    .argument('<name>', 'of the backup')
    .description('note that a backup is in a safe place: its age is a metric that the alerts watch')
    .action(
      withContext(async (context, name: string) => {
        await noteBackup(context, name);
        context.print({ name }, 'Noted.\n');
      }),
    );
}

async function toFile(context: AdminContext, file: string): Promise<Written> {
  await requireAbsent(file);
  const partial = `${file}.partial`;
  await requireAbsent(partial);
  // Only the owner of the file may read it: it contains addresses of people and hashes of tokens.
  const written = await readByPool(context, ofBackup, (pool) =>
    writeArchive(pool, createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true })),
  );
  await rename(partial, file);
  return written;
}

function toOutput(context: AdminContext): Promise<Written> {
  const { stdout } = context.io;
  if ('isTTY' in stdout && stdout.isTTY)
    throw new OperatorError('A terminal cannot keep a backup. Redirect it to a file.');
  return readByPool(context, ofBackup, (pool) => writeArchive(pool, stdout));
}

export function restoreCommand(withContext: WithContext): Command {
  return new Command('restore')
    .argument('<file>')
    .description('load a backup into an empty database and begin a hold: nothing changes upstream until `resume`')
    .option('--check', 'check the file, and change nothing')
    .action(
      withContext(async (context, file: string, { check }: { check?: boolean }) => {
        const { manifest, rows } = await verify(file);
        await requireKnownMigrations(manifest, context.io.migrationsDir);
        const { takenAt } = manifest;
        if (check === true) {
          context.print(
            { file, takenAt, rows, restored: false },
            `The backup of ${takenAt} is complete: ${rows} rows.\n`,
          );
          return;
        }
        await requireEmpty(context.prisma);
        context.progress('The file is complete. Creating tables …\n');
        await applyMigrations({
          databaseUrl: context.settings.databaseUrl,
          migrationsDir: context.io.migrationsDir,
          only: new Set(manifest.migrations.map(({ name }) => name)),
        });
        context.progress('Loading rows …\n');
        await loadRows(context, file, manifest);
        const { missingRoles } = await migrateInstallation(context);
        const target = { kind: 'Database', name: basename(file) };
        await context.perform({ team: null, action: 'database.restore', target }, async () => undefined);
        const next =
          'A hold is in force: nothing changes upstream, in the garden or at providers. Empty Redis, start the services with the\n' +
          'same SECRET_KEYS, then read `hold report`.\n';
        context.print(
          { file, takenAt, rows, restored: true },
          `Restored the backup of ${takenAt}: ${rows} rows.\n${missingText(missingRoles)}${next}`,
        );
      }),
    );
}

async function loadRows({ settings }: AdminContext, file: string, manifest: Manifest): Promise<void> {
  const prisma = connectPrisma(settings.databaseUrl, { maxWait: 10_000, timeout: RESTORE_MS });
  try {
    await loadArchive(prisma, file, manifest);
  } finally {
    await prisma.$disconnect();
  }
}

/** A backup is also taken before `migrate`, of a database that has no table of acts yet. */
async function noteBackup({ prisma, perform }: AdminContext, name: string): Promise<void> {
  const [row] = await prisma.$queryRaw<{ known: boolean }[]>`SELECT to_regclass('operator_act') IS NOT NULL AS known`;
  if (row?.known !== true) return;
  const target = { kind: 'Database', name };
  await perform({ team: null, action: 'database.backup', target }, async () => undefined);
}

async function verify(file: string) {
  try {
    return await readArchive(file, { onRows: async () => undefined });
  } catch (error) {
    if (error instanceof ArchiveDamaged) {
      throw new OperatorError(`${file} cannot be restored. ${error.message} Use another backup.`, { cause: error });
    }
    throw unreadable(error, file);
  }
}

function unreadable(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !/^E[A-Z]+$/.test(code)) return error;
  return new OperatorError(`${file} cannot be read (${code}). Check the path and its permissions.`, { cause: error });
}

async function requireAbsent(file: string): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (found !== null) throw new OperatorError(`${file} already exists. Choose another name, or remove it.`);
}

/** All tables are loaded in one transaction. */
const RESTORE_MS = 24 * 3_600_000;
/** A statement may take as long as a large table needs. */
const TABLE_MS = 3_600_000;
const ofBackup = {
  purpose: 'backup',
  connectionsMax: 2,
  statementTimeoutMs: TABLE_MS,
  idleInTransactionMs: TABLE_MS,
} as const;
