import { waitFor } from '@corral/testing';
import { addConnection } from './clusters.js';
import { type Following, type FollowOptions, follow } from './follow.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from './start-cluster-api.js';
import { type Replica, type ReplicaOptions, startReplica } from './start-replica.js';

/** Replicas on one database, those who follow changes at them, and who makes changes. */
export interface LiveTest {
  readonly api: TestClusterApi;
  startReplica(options?: ReplicaOptions): Promise<Replica>;
  /** Follows what is changed from now on, or what came after an event. Default: the member of `acme`. */
  begin(at: Replica, options?: BeginOptions): Promise<Following>;
  /** The smallest change that there is. */
  addOperation(team: TestTeam, name: string): Promise<void>;
  /** Returns once no transaction is open that could still tell something before what was told. */
  untilAllIsOver(): Promise<unknown>;
  /** Returns once the replicas know of it. */
  leaveAll(): Promise<void>;
  close(): Promise<void>;
}

export interface BeginOptions extends Partial<FollowOptions> {
  /** Also while a transaction is open before which no event counts as over. */
  readonly amidTransactions?: boolean;
}

/** Inserts an operation about `$2` for the team `$1`. */
export const insertOperation = `
  INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
  VALUES ($1, 'cluster.update', 'Cluster', gen_random_uuid(), $2, 1, 'queued', 'sha256:' || repeat('0', 64))`;

export async function startLiveTest(): Promise<LiveTest> {
  const api = await startClusterApi();
  await addConnection(api, api.acme);
  await addConnection(api, api.globex);
  const replicas: Replica[] = [];
  const followings: Following[] = [];
  const leaveAll = async (): Promise<void> => {
    for (const following of followings.splice(0)) following.leave();
    // Whoever comes while another still follows begins where that one is.
    for (const replica of replicas) await waitFor('the streams to end', async () => (await streamsAt(replica)) === 0);
  };
  /**
   * A stream begins before the oldest transaction that is open, whichever database of the server it is in: tests of
   * other files have theirs. What was changed before `begin` must not come after it.
   */
  const untilAllIsOver = () =>
    waitFor('the transactions that were open at the last event to end', async () => {
      const { rows } = await api.pool.query(
        'SELECT FROM team_event WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint LIMIT 1',
      );
      return rows.length === 0;
    });
  return {
    ...{ api, untilAllIsOver },
    async startReplica(options) {
      const started = await startReplica(api, options);
      replicas.push(started);
      return started;
    },
    async begin(at, { amidTransactions = false, ...options } = {}) {
      if (options.lastEventId === undefined && !amidTransactions) await untilAllIsOver();
      const following = await follow({ url: at.url, team: api.acme, ...options });
      followings.push(following);
      if (options.lastEventId === undefined) await waitFor('ready', () => following.events[0]?.event === 'ready');
      return following;
    },
    addOperation: async (team, name) => void (await api.pool.query(insertOperation, [team.id, name])),
    leaveAll,
    async close() {
      await leaveAll();
      await Promise.all(replicas.map((each) => each.close()));
      await api.close();
    },
  };
}

/** The gauge of open streams. */
export async function streamsAt({ metrics }: Pick<Replica, 'metrics'>): Promise<number> {
  const text = await metrics.registry.metrics();
  return Number(/^corral_event_streams_count\{[^}]*\} (\d+)$/m.exec(text)?.[1]);
}
