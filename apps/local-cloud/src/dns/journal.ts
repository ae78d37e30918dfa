import { join } from 'node:path';
import { openLineFile } from '../line-file.js';
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
  const file = openLineFile(dataDir, FILE);
  return {
    read: () => [...file.lines()].map((line, index) => parseLine(line, index, join(dataDir, FILE))),
    compact: (kept) => file.replace(linesOf(kept)),
    append: (entry) => file.append(JSON.stringify(entry)),
    close: () => file.close(),
  };
}

function parseLine(line: string, index: number, path: string): JournalEntry {
  try {
    return JSON.parse(line) as JournalEntry;
  } catch (cause) {
    throw new Error(`${path} is damaged at line ${index + 1}. Delete the file to start anew.`, { cause });
  }
}

function* linesOf(entries: Iterable<JournalEntry>): Iterable<string> {
  for (const entry of entries) yield JSON.stringify(entry);
}
