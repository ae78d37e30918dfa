import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The latest value of every key, kept over restarts. */
export interface Journal {
  /** What earlier runs have kept, in the order of the first appearance of each key. */
  readonly kept: ReadonlyMap<string, unknown>;
  /**
   * Keeps all of these values or none; null removes a key. Returns once the operating system has them: a killed process loses no
   * answered write.
   */
  keep(...entries: readonly Entry[]): void;
  /** Later writes are dropped: they answer no caller, and another process may own the file. */
  close(): void;
}

/** A state that no start can go on from. The message is for people. */
export class UnusableState extends Error {
  override readonly name = 'UnusableState';
}

/** The first line of each journal. Raised whenever what is kept gets another form. */
const FORM = JSON.stringify({ form: 4 });

type Entry = readonly [key: string, value: unknown];

/** The text of a journal that has these values. */
export const journalOf = (entries: Iterable<Entry>): string =>
  [FORM, ...[...entries].map((entry) => JSON.stringify([entry]))].map((line) => `${line}\n`).join('');

const inMemory: Journal = { kept: new Map(), keep: () => undefined, close: () => undefined };

/**
 * Opens a file in a folder, whose every line is a list of keys with their new values, and shortens it to the last values.
 *
 * @param dataDir undefined keeps nothing
 * @throws UnusableState for a file of another form, or with the number of a damaged line. An incomplete last line is dropped: nobody
 * was answered for it
 */
export function openJournal(dataDir: string | undefined, name: string): Journal {
  if (dataDir === undefined) return inMemory;
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, name);
  const kept = readValues(path);
  writeFileSync(`${path}.new`, journalOf(kept), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  let file: number | null = openSync(path, 'a', 0o600);
  return {
    kept,
    keep(...entries) {
      if (file !== null) appendFileSync(file, `${JSON.stringify(entries)}\n`);
    },
    close() {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

function readValues(path: string): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const [form = FORM, ...lines] = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  if (form !== FORM) {
    const whence = `${path} was written by another version of the local cloud`;
    throw new UnusableState(`${whence}. Run \`npm run reset\`, which deletes the state, and start again.`);
  }
  for (const [index, line] of lines.entries()) {
    for (const [key, value] of parseLine(line, `${path} is damaged at line ${index + 2}`)) {
      if (value === null) values.delete(key);
      else values.set(key, value);
    }
  }
  return values;
}

function parseLine(line: string, damage: string): [string, unknown][] {
  try {
    const entries: unknown = JSON.parse(line);
    if (!Array.isArray(entries) || !entries.every(Array.isArray)) throw new Error('It is no list of changes.');
    return entries as [string, unknown][];
  } catch (cause) {
    const advice = 'Delete the file to begin with an empty state: `npm run reset` deletes all of them.';
    throw new UnusableState(`${damage}. ${advice}`, { cause });
  }
}
