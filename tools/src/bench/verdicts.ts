import { table } from './load/report.js';

/** One aim, and what was measured for it. */
export interface Verdict {
  readonly what: string;
  /** What is possible on this machine, measured in the same run. `–` for an aim that is a number. */
  readonly floor: string;
  readonly measured: string;
  readonly aim: string;
  readonly isMet: boolean;
}

interface Measured {
  readonly what: string;
  readonly value: number;
  /** The bound. */
  readonly aim: number;
  /** Default: a number without a unit. */
  readonly unit?: string;
  readonly floor?: string;
}

const shown = (value: number, unit = ''): string =>
  `${Number.isInteger(value) ? value : value.toFixed(2)}${unit === '' ? '' : ` ${unit}`}`;

export const atMost = ({ what, value, aim, unit, floor = '–' }: Measured): Verdict => ({
  what,
  floor,
  measured: shown(value, unit),
  aim: `at most ${shown(aim, unit)}`,
  isMet: value <= aim,
});

export const atLeast = ({ what, value, aim, unit, floor = '–' }: Measured): Verdict => ({
  what,
  floor,
  measured: shown(value, unit),
  aim: `at least ${shown(aim, unit)}`,
  isMet: value >= aim,
});

export function verdictTable(verdicts: readonly Verdict[]): string {
  const missed = verdicts.filter(({ isMet }) => !isMet).length;
  const rows = verdicts.map(({ what, floor, measured, aim, isMet }) => [
    what,
    floor,
    measured,
    aim,
    isMet ? 'reached' : 'MISSED',
  ]);
  const sum = `${verdicts.length - missed} of ${verdicts.length} aims are reached.`;
  return `${table(['path', 'floor', 'measured', 'aim', 'verdict'], rows)}\n${sum}`;
}
