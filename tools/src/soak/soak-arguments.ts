import { parseArgs } from 'node:util';

export interface SoakArguments {
  readonly what: 'dns';
  readonly minutes: number;
}

const MINUTES_DEFAULT = 3;
/** A week: what runs for longer is an installation. */
const MINUTES_MAX = 10_080;

const usage = `Usage: npm run soak -- dns [--minutes ${MINUTES_DEFAULT}]`;

/** @throws Error with what is wrong and the usage */
export function parseSoakArguments(args: readonly string[]): SoakArguments {
  const { positionals, values } = parse(args);
  const [what, ...rest] = positionals;
  if (what === undefined) throw refusal('Say what to soak.');
  if (what !== 'dns' || rest.length > 0) throw refusal(`There is no soak "${positionals.join(' ')}".`);
  const minutes = values.minutes === undefined ? MINUTES_DEFAULT : Number(values.minutes || Number.NaN);
  if (!(minutes > 0 && minutes <= MINUTES_MAX)) {
    throw refusal(`--minutes has to be a number above 0 and at most ${MINUTES_MAX}, not "${values.minutes}".`);
  }
  return { what, minutes };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: { minutes: { type: 'string' } } });
  } catch (error) {
    throw refusal((error as Error).message);
  }
}

const refusal = (reason: string): Error => new Error(`${reason}\n${usage}`);
