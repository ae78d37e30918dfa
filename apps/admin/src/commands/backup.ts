import { rename, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { applyMigrations, connectPrisma } from '@corral/database';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { ArchiveDamaged, type Manifest } from '../backup/archive-format.js';
import { requireEmpty, requireKnownMigrations } from '../backup/check-target.js';
import { loadArchive } from '../backup/load-archive.js';
import { readArchive } from '../backup/read-archive.js';
import { writeArchive } from '../backup/write-archive.js';
import { OperatorError } from '../operator-error.js';
import { readByPool } from '../owner-pool.js';
import { migrateInstallation } from './migrate.js';

const notContained =
  'It does not contain the secret keys (SECRET_KEYS), without which the provider tokens in it cannot be decrypted, nor any password.';

export function backupCommand(withContext: WithContext): Command {
  return new Command('backup')
    .argument('<file>')
    .description('write all state to a new file while services run; it does not contain the secret keys')
    .action(
      withContext(async (context, file: string) => {
        await requireAbsent(file);
        const partial = `${file}.partial`;
        await requireAbsent(partial);
        const { manifest, rows } = await readByPool(context, ofBackup, (pool) => writeArchive(pool, partial));
        await rename(partial, file);
        await noteBackup(context, file);
        const { takenAt, tables } = manifest;
        const said = `Backup of ${takenAt}: ${rows} rows of ${tables.length} tables.\n${notContained}\n`;
        context.print({ file, takenAt, tables: tables.length, rows, containsSecretKeys: false }, said);
      }),
    );
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
        await migrateInstallation(context);
        const target = { kind: 'Database', name: basename(file) };
        await context.perform({ team: null, action: 'database.restore', target }, async () => undefined);
        const next =
          'A hold is in force: nothing changes upstream, in the garden or at providers. Empty Redis, start the services with the\n' +
          'same SECRET_KEYS, then read `hold report`.\n';
        context.print(
          { file, takenAt, rows, restored: true },
          `Restored the backup of ${takenAt}: ${rows} rows.\n${next}`,
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
async function noteBackup({ prisma, perform }: AdminContext, file: string): Promise<void> {
  const [row] = await prisma.$queryRaw<{ known: boolean }[]>`SELECT to_regclass('operator_act') IS NOT NULL AS known`;
  if (row?.known !== true) return;
  const target = { kind: 'Database', name: basename(file) };
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
