import { type ClusterSchemas, type CorralClient, createClient, isCorralError, type Operation } from '@corral/client';
import type { ClusterPhase } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import { clusterAccess } from '../settings/settings.js';
import { exchangedToken } from '../sign-in/exchange.js';

export type Cluster = ClusterSchemas['Cluster'];
export type ClusterPlan = ClusterSchemas['ClusterDryRun'];

/** The cluster API as one team. */
export interface TeamApi {
  readonly client: CorralClient;
  readonly url: string;
  readonly team: string;
  readonly signal: AbortSignal;
}

export interface ConnectOptions {
  /** A token by exchange is replaced when it ends within this time. */
  readonly spareMs?: number | undefined;
}

/** Changes wait for earlier ones of their team for up to 10 s; a service that restarts is away for longer. */
const CALL_MS = 120_000;
const RETRIES = 12;

/** @throws CliError without an address and a token, or if the team is not clear */
export async function connectTeam(cli: Cli, options: ConnectOptions = {}): Promise<TeamApi> {
  const { client, url, team } = await connectClusters(cli, options);
  const { signal } = cli.io;
  return { client, url, signal, team: team ?? (await onlyTeam(client, signal)) };
}

/** The cluster API, without a team. */
export async function connectClusters(cli: Cli, { spareMs }: ConnectOptions = {}) {
  const { given, io, sending } = cli;
  const { url, credentials, team, exchanged } = clusterAccess(await given());
  const client = createClient({
    baseUrl: url,
    credentials: exchanged === undefined ? credentials : { bearer: exchangedToken(cli, exchanged, spareMs) },
    ...sending,
    signal: io.signal,
    timeoutMs: CALL_MS,
    retries: RETRIES,
    pause: async (ms, signal) => {
      await io.sleep(ms, signal);
      signal?.throwIfAborted();
    },
  });
  return { client, url, team };
}

const NO_TEAM = 'Say for which team: --team, CORRAL_TEAM, or `corral login --team`.';

/** The team of a person with one team. */
async function onlyTeam(client: CorralClient, signal: AbortSignal): Promise<string> {
  const me = await findMe(client, signal);
  if (me === null) throw usageError(NO_TEAM);
  const [team, ...others] = me.teams.map(({ slug }) => slug);
  if (team === undefined)
    throw new CliError('refused', 'You do not belong to a team yet. Ask an administrator of a team to invite you.');
  if (others.length > 0) throw usageError(`${NO_TEAM} You are a member of ${[team, ...others].join(', ')}.`);
  return team;
}

/** @returns null for a service account, which cannot ask who it is */
export async function findMe(client: CorralClient, signal: AbortSignal) {
  try {
    return (await client.getMe({}, { signal })).body;
  } catch (error) {
    if (isCorralError(error) && error.status === 403) return null;
    throw error;
  }
}

/** @returns null when there is none, or when the caller has no access to it */
export async function findCluster({ client, team, signal }: TeamApi, name: string): Promise<Cluster | null> {
  try {
    return (await client.getCluster({ team, name }, { signal })).body as Cluster;
  } catch (error) {
    if (isCorralError(error) && error.status === 404) return null;
    throw error;
  }
}

/** All clusters that the caller has access to. */
export const listClustersOf = async (
  { client, team, signal }: TeamApi,
  query: { phase?: ClusterPhase[] | undefined; connection?: string | undefined } = {},
): Promise<Cluster[]> => (await client.listAll('listClusters', { team }, { query, signal })) as Cluster[];

/** @throws CliError if there is none */
export async function getCluster(api: TeamApi, name: string): Promise<Cluster> {
  const cluster = await findCluster(api, name);
  if (cluster === null) throw noCluster(api, name);
  return cluster;
}

export const noCluster = ({ team }: TeamApi, name: string): CliError =>
  new CliError('notFound', `Team ${team} has no cluster ${name}, or you have no access to it.`);

/** @param timeoutMs of all that is waited for @throws CliError `timeout` */
export async function untilEnded(
  { client, team, signal }: TeamApi,
  id: string,
  { timeoutMs, onProgress }: { readonly timeoutMs: number; readonly onProgress: (operation: Operation) => void },
): Promise<Operation> {
  try {
    return await client.waitForOperation({ team, id }, { timeoutMs, onProgress, signal });
  } catch (error) {
    if (!isCorralError(error) || error.code !== 'timeout') throw error;
    throw new CliError(
      'timeout',
      `Operation ${id} is still running after the time limit. \`corral clusters wait\` waits for it.`,
    );
  }
}

/** What an operation is at, for people. */
export const stepOf = ({ state, progress, waiting }: Operation) => ({
  percent: state === 'succeeded' ? 100 : progress,
  text: waiting === null ? state : `${state}: ${waiting.message}`,
});

/** Why an operation did not succeed. */
export function failureOf({ state, error, kind }: Operation): string | null {
  if (state === 'succeeded') return null;
  if (state === 'superseded') return `Another change replaced ${kind}.`;
  const hint = 'hint' in error && error.hint !== undefined ? ` ${error.hint}` : '';
  return `${'message' in error && error.message !== undefined ? error.message : `${kind} was ${state}.`}${hint}`;
}
