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
  /** Replaces the file with these lines atomically. */
  compact(state: () => Iterable<string>): void;
  /** Later writes are dropped: they answer no caller, and another process may own the file. */
  close(): void;
}

/** Opens a file in a folder and creates the folder if it does not exist. */
export function openJournal(dataDir: string, name: string): Journal {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, name);
  let file: number | null = null;
  let isClosed = false;
  const closeFile = (): void => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return {
    *entries<T>() {
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
      for (const [index, line] of lines.entries()) yield parseLine(line, index + 1, path) as T;
    },
    append(line) {
      if (isClosed) return;
      file ??= openSync(path, 'a', 0o600);
      appendFileSync(file, `${line}\n`);
    },
    compact(state) {
      if (isClosed) return;
      const fresh = `${path}.new`;
      writeFileSync(fresh, [...state(), ''].join('\n'), { mode: 0o600, flush: true });
      renameSync(fresh, path);
      closeFile();
    },
    close() {
      isClosed = true;
      closeFile();
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
