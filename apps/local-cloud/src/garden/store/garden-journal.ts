import { openLineFile } from '../../line-file.js';

export interface GardenJournal {
  /** The lines of earlier runs, oldest first. */
  read(): Iterable<string>;
  append(line: string): void;
  /** Shortens the history to these lines; `lines` is asked again whenever the file has grown too long. */
  compact(lines: () => Iterable<string>): void;
  close(): void;
}

const FILE = 'garden.jsonl';

/** A file is rewritten when it has become this much longer than what it leads to. */
const GROWTH_BYTES_MIN = 64 * 1024 * 1024;

export function openGardenJournal(dataDir: string): GardenJournal {
  const file = openLineFile(dataDir, FILE);
  let state: (() => Iterable<string>) | null = null;
  let compactedBytes = 0;
  const compact = (lines: () => Iterable<string>): void => {
    state = lines;
    file.replace(lines());
    compactedBytes = file.bytes;
  };
  return {
    read: () => file.lines(),
    append(line) {
      // Before the line: the state does not know it yet.
      if (state !== null && file.bytes > 2 * compactedBytes + GROWTH_BYTES_MIN) compact(state);
      file.append(line);
    },
    compact,
    close: () => file.close(),
  };
}
