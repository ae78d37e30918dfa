import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { ARCHIVE_VERSION, ArchiveDamaged, type Manifest, type TableBegin, type TableEnd } from './archive-format.js';

/** Receives an archive in its order. */
export interface ArchiveReader {
  /** @param rows JSON texts, at most a few hundred */
  onRows(table: TableBegin, rows: readonly string[]): Promise<void>;
}

const ROWS_PER_BATCH = 250;
const BATCH_CHARACTERS = 4_000_000;

/**
 * Reads an archive from beginning to end, and checks number and checksum of the rows of each table.
 *
 * @throws ArchiveDamaged when it is incomplete, changed, or no backup
 */
export async function readArchive(file: string, reader: ArchiveReader): Promise<{ manifest: Manifest; rows: number }> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  const state = startReading(reader);
  try {
    for await (const text of createInterface({ input: gunzip, crlfDelay: Number.POSITIVE_INFINITY }))
      await state.take(text);
  } catch (error) {
    throw isOfZlib(error) ? new ArchiveDamaged('It is cut off, changed, or no backup.', { cause: error }) : error;
  } finally {
    source.destroy();
  }
  return state.end();
}

const isOfZlib = (error: unknown): boolean => /^Z_/.test(String((error as { code?: unknown }).code ?? ''));

function startReading(reader: ArchiveReader) {
  let manifest: Manifest | null = null;
  let open: (TableBegin & { sum: ReturnType<typeof createHash>; rows: number }) | null = null;
  let batch: string[] = [];
  let characters = 0;
  let tables = 0;
  let rows = 0;
  let isComplete = false;

  const flush = async (): Promise<void> => {
    if (open !== null && batch.length > 0) await reader.onRows(open, batch);
    batch = [];
    characters = 0;
  };
  const take = async (text: string): Promise<void> => {
    const kind = text[0];
    if (isComplete) throw new ArchiveDamaged('Something follows its end.');
    if (kind === 'R' && open !== null) {
      open.sum.update(`${text}\n`);
      open.rows += 1;
      batch.push(text.slice(1));
      characters += text.length;
      if (batch.length >= ROWS_PER_BATCH || characters >= BATCH_CHARACTERS) await flush();
    } else if (kind === 'M' && manifest === null) {
      manifest = parseManifest(text);
    } else if (kind === 'T' && open === null && manifest?.tables[tables] === parse<TableBegin>(text).table) {
      open = { ...parse<TableBegin>(text), sum: createHash('sha256'), rows: 0 };
    } else if (kind === 'E' && open !== null) {
      await flush();
      const said = parse<TableEnd>(text);
      if (said.rows !== open.rows || said.sha256 !== open.sum.digest('hex')) {
        throw new ArchiveDamaged(`The rows of the table ${open.table} do not match their checksum.`);
      }
      rows += open.rows;
      tables += 1;
      open = null;
    } else if (kind === 'C' && open === null && tables === manifest?.tables.length) {
      isComplete = true;
    } else {
      throw new ArchiveDamaged('Its lines are not in order.');
    }
  };
  return {
    take,
    end() {
      if (manifest === null || !isComplete) throw new ArchiveDamaged('Its end is missing.');
      return { manifest, rows };
    },
  };
}

function parse<T>(text: string): T {
  try {
    return JSON.parse(text.slice(1)) as T;
  } catch (cause) {
    throw new ArchiveDamaged('A line is not readable.', { cause });
  }
}

function parseManifest(text: string): Manifest {
  const manifest = parse<Manifest>(text);
  if (manifest.version === ARCHIVE_VERSION) return manifest;
  throw new ArchiveDamaged(`Its format is ${String(manifest.version)}, and this version reads ${ARCHIVE_VERSION}.`);
}
