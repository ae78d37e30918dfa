import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';
import { wholeNumber } from '../option-parsers.js';
import { type Columns, renderTable } from '../table.js';

/*
 * What teams have at the cluster API, over all teams. Each is read in one statement, by team.
 */

interface Query {
  /** Selects the rows of one team, or of all. */
  readonly where: { readonly team?: { readonly slug: string } };
  readonly take: number;
}

interface List<T> {
  readonly name: string;
  readonly plural: string;
  read(context: AdminContext, query: Query): Promise<T[]>;
  readonly columns: Columns<T>;
}

const team = { select: { slug: true } } as const;
const byTeam = { team: { slug: 'asc' } } as const;
/** A helper for the compiler: the columns fit the rows. */
const list = <T>(of: List<T>): List<T> => of;

const clusters = list({
  name: 'cluster',
  plural: 'clusters',
  read: ({ prisma }, query) =>
    prisma.cluster.findMany({
      ...query,
      orderBy: [byTeam, { name: 'asc' }],
      select: {
        team,
        name: true,
        phase: true,
        generation: true,
        observedGeneration: true,
        shootName: true,
        createdAt: true,
      },
    }),
  columns: {
    TEAM: (row) => row.team.slug,
    CLUSTER: ({ name }) => name,
    PHASE: ({ phase }) => phase,
    CONVERGED: ({ generation, observedGeneration }) => (generation === observedGeneration ? 'yes' : 'no'),
    SHOOT: ({ shootName }) => shootName,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
  },
});

const connections = list({
  name: 'connection',
  plural: 'connections',
  read: ({ prisma }, query) =>
    prisma.connection.findMany({
      ...query,
      orderBy: [byTeam, { ref: 'asc' }],
      select: { team, ref: true, name: true, phase: true, verifiedAt: true, tokenKeyId: true, message: true },
    }),
  columns: {
    TEAM: (row) => row.team.slug,
    CONNECTION: ({ ref }) => ref,
    NAME: ({ name }) => name,
    PHASE: ({ phase }) => phase,
    VERIFIED: ({ verifiedAt }) => verifiedAt?.toISOString() ?? null,
    KEY: ({ tokenKeyId }) => tokenKeyId,
  },
});

const operations = list({
  name: 'operation',
  plural: 'operations',
  read: ({ prisma }, query) =>
    prisma.operation.findMany({
      ...query,
      orderBy: [{ createdAt: 'desc' }],
      select: {
        team,
        id: true,
        kind: true,
        targetName: true,
        state: true,
        progress: true,
        createdAt: true,
        error: true,
      },
    }),
  columns: {
    TEAM: (row) => row.team.slug,
    KIND: ({ kind }) => kind,
    TARGET: ({ targetName }) => targetName,
    STATE: ({ state }) => state,
    PROGRESS: ({ progress }) => progress,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
    OPERATION: ({ id }) => id,
  },
});

const accounts = list({
  name: 'account',
  plural: 'service accounts',
  read: ({ prisma }, query) =>
    prisma.serviceAccount.findMany({
      ...query,
      orderBy: [byTeam, { name: 'asc' }],
      select: { team, name: true, role: true, clusters: true, actions: true, createdAt: true },
    }),
  columns: {
    TEAM: (row) => row.team.slug,
    ACCOUNT: ({ name }) => name,
    ROLE: ({ role }) => role,
    CLUSTERS: (row) => row.clusters.join(' '),
    ACTIONS: ({ actions }) => actions.join(' '),
    CREATED: ({ createdAt }) => createdAt.toISOString(),
  },
});

/** `cluster list`, `connection list`, `operation list` and `account list`. */
export const listCommands = (withContext: WithContext): Command[] => [
  commandOf(clusters, withContext),
  commandOf(connections, withContext),
  commandOf(operations, withContext),
  commandOf(accounts, withContext),
];

function commandOf<T>({ name, plural, read, columns }: List<T>, withContext: WithContext): Command {
  const command = new Command(name).description(`list ${plural}`);
  command
    .command('list')
    .description(`list the ${plural} of all teams`)
    .option('--team <slug>', 'of this team only')
    .option('--limit <n>', 'rows to show, 1 to 10000', wholeNumber(10_000), 1_000)
    .action(
      withContext(async (context, { team: slug, limit }: { team?: string; limit: number }) => {
        if (slug !== undefined) await context.getTeam(slug);
        const rows = await read(context, { where: slug === undefined ? {} : { team: { slug } }, take: limit });
        context.print(
          { [`${name}s`]: rows },
          rows.length === 0 ? `There are no ${plural}.\n` : renderTable(rows, columns),
        );
      }),
    );
  return command;
}
