import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** A file of lines. Lines are appended, or the whole file is replaced by the current state. */
export interface Journal {
  /**
   * Reads the entries of earlier runs, oldest first. Drops an incomplete last line: the process died before it answered
   * that write.
   *
   * @throws Error with the file and line number of a damaged line
   */
  entries<T>(): Iterable<T>;
  /** Returns once the operating system has the line: a killed process loses no answered write. */
  append(line: string): void;
  /** Replaces the file with these lines atomically. Calls `state` again whenever the file has grown too long. */
  compact(state: () => Iterable<string>): void;
  /** Later writes are dropped: they answer no caller, and another process may own the file. */
  close(): void;
}

/** Minimum growth before the file is rewritten, in bytes. */
const GROWTH_BYTES_MIN = 64 * 1024 * 1024;

/** Opens a file in a folder and creates the folder if it does not exist. */
export function openJournal(dataDir: string, name: string): Journal {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, name);
  let file: number | null = null;
  let isClosed = false;
  let bytes = 0;
  let state: (() => Iterable<string>) | null = null;
  let compactedBytes = 0;
  const open = (): number => {
    if (file === null) {
      file = openSync(path, 'a', 0o600);
      bytes = fstatSync(file).size;
    }
    return file;
  };
  const compact = (next: () => Iterable<string>): void => {
    if (isClosed) return;
    state = next;
    const fresh = `${path}.new`;
    writeFileSync(fresh, [...next(), ''].join('\n'), { mode: 0o600, flush: true });
    renameSync(fresh, path);
    if (file !== null) closeSync(file);
    file = null;
    open();
    compactedBytes = bytes;
  };
  return {
    *entries<T>() {
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
      for (const [index, line] of lines.entries()) yield parseLine(line, index + 1, path) as T;
    },
    append(line) {
      if (isClosed) return;
      // Compact before appending: the state does not include this line yet.
      if (state !== null && bytes > 2 * compactedBytes + GROWTH_BYTES_MIN) compact(state);
      const written = Buffer.from(`${line}\n`);
      appendFileSync(open(), written);
      bytes += written.length;
    },
    compact,
    close() {
      isClosed = true;
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

function parseLine(line: string, count: number, path: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new Error(`${path} is damaged at line ${count}. Delete the file to begin with an empty state.`, { cause });
  }
}
