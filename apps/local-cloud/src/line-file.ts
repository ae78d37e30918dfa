import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** A file of lines that is only added to, or replaced as a whole. */
export interface LineFile {
  /** Length of the file. */
  readonly bytes: number;
  /**
   * Reads the lines. A last line without its end was being written when the process died, before the write was
   * answered: it is dropped.
   */
  lines(): Iterable<string>;
  /** Returns when the operating system has the line: a killed process loses nothing that it answered. */
  append(line: string): void;
  /** Puts these lines in place of the file, in one step. */
  replace(lines: Iterable<string>): void;
  /** What is written afterwards is dropped: nobody is answered any more, and the file may have another owner. */
  close(): void;
}

const CHUNK_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/** Opens a file in a folder, which is made when it is not there. */
export function openLineFile(dataDir: string, name: string): LineFile {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, name);
  let file: number | null = null;
  let isClosed = false;
  let bytes = 0;
  const open = (): number => {
    if (file === null) {
      file = openSync(path, 'a', 0o600);
      bytes = fstatSync(file).size;
    }
    return file;
  };
  return {
    get bytes() {
      return bytes;
    },
    lines: () => (existsSync(path) ? readLines(path) : []),
    append(line) {
      if (isClosed) return;
      bytes += writeAll(open(), Buffer.from(`${line}\n`));
    },
    replace(lines) {
      if (isClosed) return;
      const fresh = `${path}.new`;
      const target = openSync(fresh, 'w', 0o600);
      for (const chunk of chunksOf(lines)) writeAll(target, Buffer.from(chunk));
      fsyncSync(target);
      closeSync(target);
      renameSync(fresh, path);
      if (file !== null) closeSync(file);
      file = null;
      open();
    },
    close() {
      isClosed = true;
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

function* readLines(path: string): Iterable<string> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let rest: Buffer[] = [];
    for (let count = readSync(file, chunk); count > 0; count = readSync(file, chunk)) {
      let from = 0;
      for (let end = chunk.indexOf(LINE_FEED); end >= 0 && end < count; end = chunk.indexOf(LINE_FEED, from)) {
        yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString('utf8');
        rest = [];
        from = end + 1;
      }
      if (from < count) rest.push(Buffer.from(chunk.subarray(from, count)));
    }
  } finally {
    closeSync(file);
  }
}

/** Lines joined to few large writes. */
function* chunksOf(lines: Iterable<string>): Iterable<string> {
  let pending: string[] = [];
  let length = 0;
  for (const line of lines) {
    pending.push(line, '\n');
    length += line.length;
    if (length < CHUNK_BYTES) continue;
    yield pending.join('');
    pending = [];
    length = 0;
  }
  yield pending.join('');
}

function writeAll(file: number, bytes: Buffer): number {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
  return bytes.length;
}
