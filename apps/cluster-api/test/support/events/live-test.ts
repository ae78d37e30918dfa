import { waitFor } from '@corral/testing';
import { addConnection } from '../clusters.js';
import { startClusterApi, type TestTeam } from '../start-cluster-api.js';
import { type Following, type FollowOptions, follow } from './follow.js';
import { type Replica, type ReplicaOptions, startReplica } from './start-replica.js';

interface BeginOptions extends Partial<FollowOptions> {
  /** Starts even while open transactions hold back events. */
  readonly amidTransactions?: boolean;
}

/** Inserts an operation on `$2` for the team `$1`. */
export const insertOperation = `
  INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
  VALUES ($1, 'cluster.update', 'Cluster', gen_random_uuid(), $2, 1, 'queued', 'sha256:' || repeat('0', 64))`;

/** Starts replicas on one database, with clients that follow events. */
export async function startLiveTest() {
  const api = await startClusterApi();
  await addConnection(api, api.acme);
  await addConnection(api, api.globex);
  const replicas: Replica[] = [];
  const followings: Following[] = [];
  const leaveAll = async (): Promise<void> => {
    for (const following of followings.splice(0)) following.leave();
    // A new client shares the feed of an existing one and would start at the feed's position.
    for (const replica of replicas) await waitFor('the streams to end', async () => (await streamsAt(replica)) === 0);
  };
  /**
   * A stream starts before the oldest open transaction of the database server, including those of other test files.
   * Waiting for them keeps changes from before `begin` out of the stream.
   */
  const untilAllIsOver = () =>
    waitFor('the transactions that were open at the last event to end', async () => {
      const { rows } = await api.pool.query(
        'SELECT FROM team_event WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint LIMIT 1',
      );
      return rows.length === 0;
    });
  return {
    api,
    async startReplica(options?: ReplicaOptions): Promise<Replica> {
      const started = await startReplica(api, options);
      replicas.push(started);
      return started;
    },
    /** Follows events from now on, or after `lastEventId`. Default: as the member of `acme`. */
    async begin(at: Replica, { amidTransactions = false, ...options }: BeginOptions = {}): Promise<Following> {
      if (options.lastEventId === undefined && !amidTransactions) await untilAllIsOver();
      const following = await follow({ url: at.url, team: api.acme, ...options });
      followings.push(following);
      if (options.lastEventId === undefined) await waitFor('ready', () => following.events[0]?.event === 'ready');
      return following;
    },
    /** Makes the smallest possible change. */
    addOperation: async (team: TestTeam, name: string): Promise<void> =>
      void (await api.pool.query(insertOperation, [team.id, name])),
    /** Closes all clients. Resolves once the replicas have noticed. */
    leaveAll,
    async close(): Promise<void> {
      await leaveAll();
      await Promise.all(replicas.map((each) => each.close()));
      await api.close();
    },
  };
}

export type LiveTest = Awaited<ReturnType<typeof startLiveTest>>;

/** The gauge of open streams. */
export async function streamsAt({ metrics }: Pick<Replica, 'metrics'>): Promise<number> {
  const text = await metrics.registry.metrics();
  return Number(/^corral_event_streams\{[^}]*\} (\d+)$/m.exec(text)?.[1]);
}
