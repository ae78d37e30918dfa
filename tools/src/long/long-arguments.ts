import { parseArgs } from 'node:util';

/** One run of `npm test`, with its arguments and environment. */
export interface LongRun {
  /** The arguments of `npm test`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it draws its choices from `CORRAL_CRASH_SEED`. */
  readonly isSeeded: boolean;
}

export interface LongTest {
  readonly run: LongRun;
  /** The number of runs, one after the other, each with its own seed. */
  readonly times: number;
}

interface Part {
  /** Completes "It …". */
  readonly about: string;
  /** The arguments of `npm test`. */
  readonly args: readonly string[];
  /** Smaller parts by their names, each with its patterns for test files. */
  readonly areas?: Readonly<Record<string, readonly string[]>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly isSeeded?: true;
  /** How long it lasts, and the variable that says so to the tests. */
  readonly minutes?: { readonly variable: string; readonly usual: number };
  readonly times?: number;
}

const fileOf = (about: string, file: string): Part => ({ about, args: ['tests', file] });
const areaNames = ['cli', 'clients', 'clusters', 'console', 'dns'];
const crashes = {
  clusters: ['system/clusters/cluster-crash'],
  dns: ['system/dns/dns-crash'],
  servers: ['long/system/clusters/pools-on-servers'],
};

const parts: Readonly<Record<string, Part>> = {
  system: {
    about: 'runs the tests of the whole system that `npm test` has no time for, of all areas or of one. 20 minutes.',
    args: ['tests', 'long/system'],
    areas: Object.fromEntries(areaNames.map((area) => [area, [`long/system/${area}`]])),
    isSeeded: true,
  },
  packages: {
    about: 'runs the tests of apps and packages that `npm test` has no time for: races, shared budgets. 5 minutes.',
    args: ['/test/long/'],
  },
  crash: {
    about: 'kills processes and injects faults around them: for clusters, for DNS, for servers that join and leave.',
    args: ['tests', ...Object.values(crashes).flat()],
    areas: crashes,
    isSeeded: true,
    minutes: { variable: 'CORRAL_CRASH_MINUTES', usual: 30 },
  },
  soak: {
    about: 'runs the DNS API under load, with fewer kills, and checks that the memory of a gateway does not grow.',
    args: ['tests', 'system/dns/dns-crash.test'],
    isSeeded: true,
    minutes: { variable: 'CORRAL_SOAK_MINUTES', usual: 9 },
  },
  clients: fileOf(
    'tries every client of tests/clients; CORRAL_CLIENTS=lego,certbot only these. 15 minutes.',
    'long/clients',
  ),
  pipeline: {
    about: 'lets a pipeline change 40 clusters while services are killed, and checks what it reported. 10 minutes.',
    args: ['tests', 'long/pipeline'],
    isSeeded: true,
  },
  orders: { about: 'runs all tests in a random order, several times.', args: ['--random-order'], env: {}, times: 3 },
  images: fileOf('runs the commands of the Dockerfile in an empty folder. 1 minute.', 'long/image-builds'),
  node: fileOf('runs a command in a fresh clone on the oldest Node.js. 2 minutes.', 'long/oldest-node'),
  helm: fileOf('runs the tests of the Helm chart, and builds Helm first if there is none.', 'system/installation/helm'),
  dashboards: fileOf('lets Prometheus scrape a system, and checks that panels show it. 1 minute.', 'long/dashboards'),
  docs: fileOf('runs the commands of pages for newcomers; builds and searches the site. 3 minutes.', 'long/docs'),
  release: fileOf('makes a release twice, compares the files, and installs each. 5 minutes.', 'long/release.test'),
  releases: fileOf('upgrades the previous release under load, and takes that back. 5 minutes.', 'long/two-releases'),
  backup: fileOf('takes a backup into a bucket, and restores it. 2 minutes, 10 at first.', 'long/backup'),
  restore: fileOf('restores a backup of a busy database into a world that went on. 1 minute.', 'long/restore'),
  failover: fileOf('loses the primary of a replicated Postgres under load. 1 minute.', 'long/failover'),
  pgbouncer: fileOf('runs services behind PgBouncer, which has to be installed. 1 minute.', 'long/pgbouncer'),
  runbooks: fileOf('runs the commands of the runbook for lost parts.', 'long/lost-parts'),
  stalls: fileOf('sends bodies that are made to block a service. 1 minute.', 'long/hostile-bodies'),
  terraform: fileOf(
    'manages 200 record sets as Terraform does, under the default limits. 30 minutes.',
    'long/terraform',
  ),
};

/** A week. Anything longer is an installation. */
const MINUTES_MAX = 10_080;
const TIMES_MAX = 1_000;

const usageOf = ([name, { about, areas, minutes, times = 1 }]: [string, Part]): string => {
  const words = areas === undefined ? '' : ` [${Object.keys(areas).join('|')}]`;
  const lasting = minutes === undefined ? '' : ` [--minutes ${minutes.usual}]`;
  return `  ${name}${words}${lasting} [--times ${times}]\n          ${about}\n`;
};

export const usage = `Usage: npm run test:long -- <part> [options]

${Object.entries(parts).map(usageOf).join('')}
Each run has its own seed, which is printed. Set CORRAL_CRASH_SEED to repeat the random choices of a crash, soak or pipeline run.`;

/** @throws Error with the mistake and the usage */
export function parseLongArguments([name = '', ...args]: readonly string[]): LongTest {
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
  if (part === undefined) throw refusal(`There is no part "${name}".`);
  const { areas = {}, minutes, isSeeded = false, env = { CORRAL_TEST_LONG: '1' } } = part;
  const { positionals, values } = parsed(args, minutes === undefined ? ['times'] : ['minutes', 'times']);
  const [area, ...rest] = positionals;
  if (rest.length > 0 || (area !== undefined && !Object.hasOwn(areas, area)))
    throw refusal(`Unexpected argument "${positionals.join(' ')}".`);
  const lasts = numberOf(values.minutes, minutes?.usual ?? 1);
  if (!(lasts > 0 && lasts <= MINUTES_MAX))
    throw refusal(`--minutes must be a number above 0 and at most ${MINUTES_MAX}, not "${values.minutes}".`);
  const times = numberOf(values.times, part.times ?? 1);
  if (!(Number.isInteger(times) && times > 0 && times <= TIMES_MAX))
    throw refusal(`--times must be a whole number from 1 to ${TIMES_MAX}, not "${values.times}".`);
  return {
    run: {
      args: area === undefined ? part.args : ['tests', ...(areas[area] ?? [])],
      env: { ...env, ...(minutes === undefined ? {} : { [minutes.variable]: String(lasts) }) },
      isSeeded,
    },
    times,
  };
}

function parsed(args: readonly string[], names: readonly string[]) {
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw refusal((error as Error).message);
  }
}

const numberOf = (value: string | undefined, otherwise: number): number =>
  value === undefined ? otherwise : Number(value.trim() || Number.NaN);

const refusal = (reason: string): Error => new Error(`${reason}\n\n${usage}`);
