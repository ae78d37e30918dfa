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

const MINUTES = { crash: 30, soak: 9 };
const TIMES = {
  system: 1,
  packages: 1,
  crash: 1,
  pipeline: 1,
  soak: 1,
  clients: 1,
  orders: 3,
  images: 1,
  node: 1,
  helm: 1,
  dashboards: 1,
  docs: 1,
  release: 1,
  releases: 1,
  backup: 1,
  restore: 1,
  failover: 1,
  pgbouncer: 1,
  runbooks: 1,
  stalls: 1,
  neighbours: 1,
  terraform: 1,
};
/** A week. Anything longer is an installation. */
const MINUTES_MAX = 10_080;
const TIMES_MAX = 1_000;

/** The test files for each product whose processes are killed. */
const CRASHES: Readonly<Record<string, readonly string[]>> = {
  clusters: ['system/clusters/cluster-crash'],
  dns: ['system/dns/dns-crash', 'long/dns-crash-without-redis'],
  servers: ['long/system/clusters/pools-on-servers'],
};

/** The folders of `tests/long/system`. */
const AREAS = ['cli', 'clients', 'clusters', 'console', 'dns'];

export const usage = `Usage: npm run test:long -- <part> [options]

  system [${AREAS.join('|')}] [--times ${TIMES.system}]
          runs the tests of the whole system that \`npm test\` has no time for, all of them or those of one area: several replicas and
          workers, shutdowns, outages, traces, the fuzzer, and what goes deeper in the console. All of them take 20 minutes on two cores.
  packages [--times ${TIMES.packages}]
          runs the tests of apps and packages that \`npm test\` has no time for: races of many clients, replicas that share a budget, operators
          of a garden who get in the way, and requests that are made up for every route. It takes 5 minutes.
  crash [clusters|dns|servers] [--minutes ${MINUTES.crash}] [--times ${TIMES.crash}]
          kills processes and injects faults in everything around them: for clusters, for DNS and for servers that join and leave.
          Without a name all three run at the same time. It takes --minutes, and up to 5 more until the system is stable again.
  soak [--minutes ${MINUTES.soak}] [--times ${TIMES.soak}]
          runs the DNS API under load, with fewer kills, and checks that the memory of a gateway does not grow. It takes --minutes,
          and up to 5 more.
  clients [--times ${TIMES.clients}]
          tries every client of tests/clients, also those that take long to build: under faults, near a quota, and once more without
          an effect. It takes 15 minutes, and as many more the first time. CORRAL_CLIENTS=lego,certbot tries these only.
  pipeline [--times ${TIMES.pipeline}]
          lets a pipeline create, change and delete 40 clusters with the command line, while both services are killed, and checks that
          what it reported is true. Another one works beside people who change the same clusters, and must destroy nothing that no plan
          named. It takes 15 minutes.
  orders [--times ${TIMES.orders}]
          runs all tests in a random order, several times. Each run takes 8 minutes on two cores, like \`npm test\`.
  images [--times ${TIMES.images}]
          runs the commands of the Dockerfile in an empty folder to build the images. It takes 1 minute.
  node [--times ${TIMES.node}]
          runs a command in a fresh clone on the oldest Node.js, with an empty home and as an ordinary user. It takes 2 minutes.
  helm [--times ${TIMES.helm}]
          runs the tests of the Helm chart, and builds Helm first if this machine has none. That takes minutes, once per machine.
  dashboards [--times ${TIMES.dashboards}]
          lets Prometheus scrape a system that works, and checks that the panels show something. It needs Prometheus, and takes 1 minute.
  docs [--times ${TIMES.docs}]
          runs the commands of the pages for newcomers beside \`npm start\`, builds the site, and searches it. It takes 3 minutes.
  release [--times ${TIMES.release}]
          makes the files of a release twice, compares them, and installs each into an empty folder. It takes 5 minutes.
  releases [--times ${TIMES.releases}]
          builds the previous release, upgrades it to this one under load, and takes a part of that back. It takes 5 minutes.
  backup [--times ${TIMES.backup}]
          takes backups as cron and the chart do, into folders and a bucket, and restores them. It takes 2 minutes, and 10 more the first
          time: it builds rclone, which needs Go.
  restore [--times ${TIMES.restore}]
          takes a backup under load, destroys the database, and restores it into a world that went on. It takes 1 minute.
  failover [--times ${TIMES.failover}]
          loses the primary of a replicated Postgres under load, and promotes its standby. It takes 1 minute.
  pgbouncer [--times ${TIMES.pgbouncer}]
          runs services behind PgBouncer, which has to be installed, in both of its modes. It takes 1 minute.
  runbooks [--times ${TIMES.runbooks}]
          runs the commands of the runbook for lost parts. It takes a few seconds.
  stalls [--times ${TIMES.stalls}]
          sends bodies that are made to block a service, to every route with a body. It takes 1 minute on an otherwise idle machine.
  neighbours [--times ${TIMES.neighbours}]
          measures what a team gets from both services beside neighbours that misbehave. It takes 5 minutes on an otherwise idle machine.
  terraform [--times ${TIMES.terraform}]
          creates, changes and destroys 200 record sets as Terraform does, 10 and 30 at a time, under the default limits: with lego on
          the same token, and with the budget of the upstream, alone and beside quiet teams. It takes 30 minutes, mostly waiting.

Each run has its own seed, which is printed. Set CORRAL_CRASH_SEED to repeat the random choices of a crash, soak or pipeline run.`;

/** @throws Error with the mistake and the usage */
export function parseLongArguments([part, ...args]: readonly string[]): LongTest {
  switch (part) {
    case 'system': {
      const { words, times } = parse(args, { times: TIMES.system });
      const [area, ...rest] = words;
      if ((area !== undefined && !AREAS.includes(area)) || rest.length > 0)
        throw refusal(`"${words.join(' ')}" is not one of ${AREAS.join(', ')}.`);
      const file = area === undefined ? 'long/system' : `long/system/${area}`;
      return { run: { args: ['tests', file], env: { CORRAL_TEST_LONG: '1' }, isSeeded: true }, times };
    }
    case 'crash': {
      const { words, minutes, times } = parse(args, { minutes: MINUTES.crash, times: TIMES.crash });
      const [product, ...rest] = words;
      const isKnown = product === undefined || Object.hasOwn(CRASHES, product);
      if (!isKnown || rest.length > 0)
        throw refusal(`"${words.join(' ')}" is not one of ${Object.keys(CRASHES).join(', ')}.`);
      const patterns = product === undefined ? Object.values(CRASHES).flat() : (CRASHES[product] as readonly string[]);
      const env = { CORRAL_CRASH_MINUTES: String(minutes), CORRAL_TEST_LONG: '1' };
      return { run: { args: ['tests', ...patterns], env, isSeeded: true }, times };
    }
    case 'soak': {
      const { words, minutes, times } = parse(args, { minutes: MINUTES.soak, times: TIMES.soak });
      refuseWords(words);
      const env = { CORRAL_SOAK_MINUTES: String(minutes) };
      return { run: { args: ['tests', 'system/dns/dns-crash.test'], env, isSeeded: true }, times };
    }
    case 'pipeline': {
      const { words, times } = parse(args, { times: TIMES.pipeline });
      refuseWords(words);
      return { run: { args: ['tests', 'long/pipeline'], env: { CORRAL_TEST_LONG: '1' }, isSeeded: true }, times };
    }
    case 'neighbours': {
      const { words, times } = parse(args, { times: TIMES.neighbours });
      refuseWords(words);
      const env = { CORRAL_NEIGHBOURS_SECONDS: '15', CORRAL_TEST_LONG: '1' };
      return { run: { args: ['tests', 'system/rude-neighbours'], env, isSeeded: false }, times };
    }
    case 'orders': {
      const { words, times } = parse(args, { times: TIMES.orders });
      refuseWords(words);
      return { run: { args: ['--random-order'], env: {}, isSeeded: false }, times };
    }
    case 'packages':
    case 'clients':
    case 'images':
    case 'node':
    case 'helm':
    case 'dashboards':
    case 'docs':
    case 'release':
    case 'releases':
    case 'backup':
    case 'restore':
    case 'failover':
    case 'pgbouncer':
    case 'runbooks':
    case 'stalls':
    case 'terraform': {
      const { words, times } = parse(args, { times: TIMES[part] });
      refuseWords(words);
      const file = {
        packages: '/test/long/',
        clients: 'long/clients',
        images: 'long/image-builds',
        node: 'long/oldest-node',
        helm: 'system/installation/helm',
        dashboards: 'long/dashboards',
        docs: 'long/docs',
        release: 'long/release.test',
        releases: 'long/two-releases',
        backup: 'long/backup',
        restore: 'long/restore',
        failover: 'long/failover',
        pgbouncer: 'long/pgbouncer',
        runbooks: 'long/lost-parts',
        stalls: 'long/hostile-bodies',
        terraform: 'long/terraform',
      }[part];
      const patterns = part === 'packages' ? [file] : ['tests', file];
      return { run: { args: patterns, env: { CORRAL_TEST_LONG: '1' }, isSeeded: false }, times };
    }
    default:
      throw refusal(`There is no part "${part}".`);
  }
}

function parse(args: readonly string[], defaults: { minutes?: number; times: number }) {
  const { positionals, values } = parsed(args, Object.keys(defaults));
  const minutes = numberOf(values.minutes, defaults.minutes ?? 0);
  if (defaults.minutes !== undefined && !(minutes > 0 && minutes <= MINUTES_MAX)) {
    throw refusal(`--minutes must be a number above 0 and at most ${MINUTES_MAX}, not "${values.minutes}".`);
  }
  const times = numberOf(values.times, defaults.times);
  if (!(Number.isInteger(times) && times > 0 && times <= TIMES_MAX)) {
    throw refusal(`--times must be a whole number from 1 to ${TIMES_MAX}, not "${values.times}".`);
  }
  return { words: positionals, minutes, times };
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

function refuseWords(words: readonly string[]): void {
  if (words.length > 0) throw refusal(`Unexpected argument "${words.join(' ')}".`);
}

const refusal = (reason: string): Error => new Error(`${reason}\n\n${usage}`);
