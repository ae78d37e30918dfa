import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Action, Rrset, Write, ZoneFacts } from './model.js';

/** One step of the project's history, or, after compaction, one piece of its state. */
export type JournalEntry =
  | { kind: 'zone'; zone: ZoneFacts }
  | { kind: 'counters'; nextActionId: number; nextCreatedSeq: number; nextWriteSeq: number }
  | { kind: 'action'; action: Action }
  | { kind: 'write'; write: Write }
  | { kind: 'change'; change: RrsetChange; action?: Action; write?: Write };

/** What became of one set, together with the serial that it raised. */
export interface RrsetChange {
  readonly zoneId: number;
  readonly name: string;
  readonly type: string;
  readonly next: Rrset | null;
  /** The zone's SOA set after the change; absent when the serial stayed. */
  readonly soa?: Rrset;
}

export interface Journal {
  /** Reads the entries of earlier runs, oldest first. */
  read(): JournalEntry[];
  /** Replaces the file by these entries: earlier history shrinks to the state it led to. */
  compact(entries: Iterable<JournalEntry>): void;
  /** Returns when the operating system has the entry: a killed process loses nothing that it answered. */
  append(entry: JournalEntry): void;
  close(): void;
}

const FILE = 'dns.jsonl';

/** Opens the journal in a folder, which is made when it is not there. */
export function openJournal(dataDir: string): Journal {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, FILE);
  let file: number | null = null;
  return {
    read: () => (existsSync(path) ? parseJournal(readFileSync(path, 'utf8'), path) : []),
    compact(kept) {
      const fresh = `${path}.new`;
      const target = openSync(fresh, 'w');
      for (const entry of kept) writeAll(target, lineOf(entry));
      fsyncSync(target);
      closeSync(target);
      renameSync(fresh, path);
      if (file !== null) closeSync(file);
      file = openSync(path, 'a');
    },
    append(entry) {
      file ??= openSync(path, 'a');
      writeAll(file, lineOf(entry));
    },
    close() {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

/**
 * Reads the lines of a journal. A last line without its end was being written when the process died, before the
 * write was answered: it is dropped.
 *
 * @throws Error when any other line cannot be read
 */
export function parseJournal(text: string, path: string): JournalEntry[] {
  const lines = text.split('\n');
  lines.pop();
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as JournalEntry;
    } catch (cause) {
      throw new Error(`${path} is damaged at line ${index + 1}. Delete the file to start anew.`, { cause });
    }
  });
}

const lineOf = (entry: JournalEntry): Buffer => Buffer.from(`${JSON.stringify(entry)}\n`);

function writeAll(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
}
