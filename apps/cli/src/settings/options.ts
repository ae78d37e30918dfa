import { InvalidArgumentError, Option } from 'commander';
import { usageError } from '../exit-codes.js';

/** @throws CliError for a token that is given as an argument */
export function requireInput(token: string | undefined): void {
  if (token === undefined || token === '-') return;
  throw usageError('A token in the arguments is seen by everybody on the machine. Use --token - and standard input.');
}

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DAYS_MAX = 3_660;

/** Parses a duration such as `90s`, `30m`, `8h` or `90d`. @returns ms */
export function durationOption(text: string): number {
  const [, digits, unit] = /^([1-9]\d{0,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(digits) * unitsMs[unit as keyof typeof unitsMs];
  if (digits === undefined || ms > DAYS_MAX * unitsMs.d) {
    throw new InvalidArgumentError('Use a number and a unit, such as 90s, 30m, 8h or 90d.');
  }
  return ms;
}

/** Parses a whole number from `min` to `max`. */
export const wholeNumber =
  (max: number, min = 1) =>
  (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Use a whole number from ${min} to ${max}.`);
  };

const TIMEOUT = '30m';

/** How long a command waits for what it began. */
export const timeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long to wait, such as 90s or 30m')
    .default(durationOption(TIMEOUT), TIMEOUT)
    .argParser(durationOption);

export const filesOption = (): Option =>
  new Option('-f, --file <paths...>', 'files and folders in YAML or JSON; `-` reads standard input');
export const neededFiles = (): Option => filesOption().makeOptionMandatory();
export const dryRunOption = (): Option => new Option('--dry-run', 'show what would change, and change nothing');
export const yesOption = (): Option => new Option('-y, --yes', 'do not ask');
export const allowRemovalsOption = (): Option =>
  new Option('--allow-removals', 'without a terminal: allow changes that remove, replace or wipe nodes and servers');
