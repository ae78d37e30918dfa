import type { Prisma, Transaction } from '@corral/database';
import { beginHoldOfRestored } from '../hold/begin-and-end.js';
import type { Manifest, SequenceState } from './archive-format.js';
import { readArchive } from './read-archive.js';

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const tableOf = (name: string): string => `public.${quoted(name)}`;

/**
 * Loads an archive into the empty tables of its own migration level, and begins a hold, in one transaction.
 *
 * @throws ArchiveDamaged, or the error of Postgres. Nothing was written then
 */
export async function loadArchive(prisma: Prisma, file: string, manifest: Manifest): Promise<void> {
  await prisma.$transaction(async (tx) => {
    const all = manifest.tables.map(tableOf);
    // Triggers would write events and defaults beside the restored rows.
    for (const table of all) await tx.$executeRawUnsafe(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    for (const table of all.toReversed()) await tx.$executeRawUnsafe(`DELETE FROM ${table}`);
    await readArchive(file, {
      async onRows({ table, columns }, rows) {
        const names = columns.map(quoted).join(', ');
        await tx.$executeRawUnsafe(
          `INSERT INTO ${tableOf(table)} (${names})
           SELECT ${names} FROM json_populate_recordset(NULL::${tableOf(table)}, $1::json)`,
          `[${rows.join(',')}]`,
        );
      },
    });
    for (const table of all) await tx.$executeRawUnsafe(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
    for (const sequence of manifest.sequences) await setSequence(tx, sequence);
    await beginHoldOfRestored(tx, new Date(manifest.takenAt));
  });
}

/** Sets a sequence as in the backup. The hold advances it afterwards. */
async function setSequence(tx: Transaction, { name, last }: SequenceState): Promise<void> {
  if (last !== null) await tx.$queryRaw`SELECT setval(${tableOf(name)}::text::regclass, ${last}::bigint)`;
}
