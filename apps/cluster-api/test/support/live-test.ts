import { waitFor } from '@corral/testing';
import { addConnection } from './clusters.js';
import { type Following, type FollowOptions, follow } from './follow.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from './start-cluster-api.js';
import { type Replica, type ReplicaOptions, startReplica } from './start-replica.js';

/** Replicas on one database, those who follow changes at them, and who makes changes. */
export interface LiveTest {
  readonly api: TestClusterApi;
  startReplica(options?: ReplicaOptions): Promise<Replica>;
  /** Follows, and waits until it is known where the stream begins. Default: the member of `acme`. */
  begin(at: Replica, options?: Partial<FollowOptions>): Promise<Following>;
  /** The smallest change that there is. */
  addOperation(team: TestTeam, name: string): Promise<void>;
  leaveAll(): void;
  close(): Promise<void>;
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
  const leaveAll = (): void => {
    for (const following of followings.splice(0)) following.leave();
  };
  return {
    api,
    async startReplica(options) {
      const started = await startReplica(api, options);
      replicas.push(started);
      return started;
    },
    async begin(at, options = {}) {
      const following = await follow({ url: at.url, team: api.acme, ...options });
      followings.push(following);
      if (options.lastEventId === undefined) await waitFor('ready', () => following.events[0]?.event === 'ready');
      return following;
    },
    addOperation: async (team, name) => void (await api.pool.query(insertOperation, [team.id, name])),
    leaveAll,
    async close() {
      leaveAll();
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
