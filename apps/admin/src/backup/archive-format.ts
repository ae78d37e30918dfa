/*
 * A backup is one gzip file of lines. The first character of a line says what it is, the rest is JSON:
 *
 *   M  the manifest, once
 *   T  the beginning of a table: its name and columns
 *   R  a row of it, as Postgres renders rows as JSON
 *   E  the end of a table: number and SHA-256 of its rows
 *   C  the archive is complete
 */
export type LineKind = 'M' | 'T' | 'R' | 'E' | 'C';

export const ARCHIVE_VERSION = 1;

export interface Manifest {
  readonly version: typeof ARCHIVE_VERSION;
  /** Time by the clock of Postgres, not later than the snapshot: RFC 3339. */
  readonly takenAt: string;
  /** The applied migrations, with the SHA-256 of their scripts. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  readonly sequences: readonly SequenceState[];
  /** Tables in the order of the archive: a table follows those that it refers to. */
  readonly tables: readonly string[];
  readonly leftOut: readonly string[];
}

export interface SequenceState {
  readonly name: string;
  readonly type: string;
  /** Null if it was never used. */
  readonly last: number | null;
}

export interface TableBegin {
  readonly table: string;
  readonly columns: readonly string[];
}

export interface TableEnd {
  readonly rows: number;
  readonly sha256: string;
}

/**
 * Tables whose rows are not in a backup: state of running processes, sessions (people sign in again) and team events, which are
 * ordered by transaction numbers of one Postgres server.
 */
export const leftOutTables: readonly string[] = [
  '_prisma_migrations',
  'dns_action_poll',
  'dns_request_count',
  'dns_sync_seen',
  'hold_finding',
  'installation_hold',
  'leadership',
  'service_process',
  'session',
  'team_event',
  'upstream_budget',
];

/** The archive cannot be used. The message says why, and continues with what to do. */
export class ArchiveDamaged extends Error {
  override readonly name = 'ArchiveDamaged';
}
