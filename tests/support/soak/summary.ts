import type { Chaos } from '../crashes/chaos.js';
import type { Judged } from '../crashes/crash-judge.js';
import type { Connections, Growth } from './holdings.js';
import type { Answers } from './side-load.js';

export interface SoakResult {
  readonly minutes: number;
  readonly chaos: Chaos;
  readonly judged: Judged;
  /** Null if nothing was measured. */
  readonly held: { readonly growth: Growth; readonly idle: Connections; readonly after: Connections } | null;
  readonly beside: Answers;
}

/** Summarises what happened in a soak, with one line per fact. */
export function summaryOf({ minutes, chaos, judged, held, beside }: SoakResult): string {
  const writes: Record<number, number> = {};
  for (const { status } of chaos.answered) writes[status] = (writes[status] ?? 0) + 1;
  const rows: [string, string][] = [
    ['minutes', String(minutes)],
    ['processes killed', String(chaos.kills)],
    ...Object.entries({ writes, ...beside }).map(([kind, counts]): [string, string] => [
      `${kind} answered`,
      tally(counts),
    ]),
    ['writes without an answer', String(chaos.lost)],
    ['writes upstream', `${judged.writes}, ${judged.settled} settled, ${judged.failed} whose action failed`],
    ...(held === null ? [] : rowsOf(held)),
    ['problems', String(chaos.problems.length)],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return rows.map(([what, value]) => `${what.padEnd(width)}  ${value}\n`).join('');
}

const rowsOf = ({ growth, idle, after }: NonNullable<SoakResult['held']>): [string, string][] => [
  ['heap, last third over first', mebibytes(growth.heap)],
  ['RSS, last third over first', mebibytes(growth.rss)],
  ['sockets of the steady gateway', `${idle.sockets} before, ${after.sockets} after`],
  ['connections to Postgres', `${idle.connections} before, ${after.connections} after`],
];

const tally = (counts: Readonly<Record<number, number>>): string =>
  Object.entries(counts)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
