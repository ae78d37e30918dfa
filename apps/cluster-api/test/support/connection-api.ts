import type { TokenVerdict } from '@corral/contracts';
import { startClusterApi, type TestClusterApi, type TestTeam } from './start-cluster-api.js';

export const TOKEN = 'token-of-the-project-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
export const OTHER_TOKEN = 'token-of-the-project-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';

/** The specification of a connection. */
export const spec = (more: object = {}) => ({ name: 'Production', provider: 'hcloud', token: TOKEN, ...more });

/** Starts the API for tests of connections, with a provider whose verdict a test sets. */
export async function startConnectionApi() {
  /** The verdict on the next tokens, and the tokens that the provider was asked about. */
  const provider = { verdict: 'valid' as TokenVerdict, shown: [] as string[] };
  const test: TestClusterApi = await startClusterApi({
    deps: {
      verifyToken: async (token) => {
        provider.shown.push(token);
        return provider.verdict;
      },
    },
  });
  let team = await test.createTeam('first');
  const path = (ref = '') => team.path(`/connections/${ref === '' ? '' : `${ref}/`}`);
  return {
    test,
    provider,
    /** The team of the current test, which has no connection yet. */
    get team(): TestTeam {
      return team;
    },
    /** Prepares the next test: a new team, and a provider that accepts each token. */
    async reset(): Promise<void> {
      Object.assign(provider, { verdict: 'valid', shown: [] });
      test.wakeups.length = 0;
      team = await test.createTeam();
    },
    path,
    /** Sends a PUT as an administrator of the team. */
    put: (ref: string, body: object = spec()) => test.api.as(team.admin).put(path(ref)).send({ spec: body }),
    rowOf: (ref: string) => test.db.connection.findUniqueOrThrow({ where: { teamId_ref: { teamId: team.id, ref } } }),
    /** The audit entries of the team, oldest first. */
    auditOf: async () =>
      (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
        ({ action, targetName, userId, changes, detail, requestId }) => {
          return { action, targetName, userId, changes, detail, requestId };
        },
      ),
    /** Inserts a cluster row, for tests that only need its existence. It is a draft unless its first pass has begun. */
    async givenCluster(name: string, { ref = 'main', startedAt = null as Date | null } = {}): Promise<{ id: string }> {
      const teamId = team.id;
      const connection = await test.db.connection.findUniqueOrThrow({ where: { teamId_ref: { teamId, ref } } });
      const data = { teamId, connectionId: connection.id, name, spec: {}, desiredHash: 'sha256:0', startedAt };
      return test.db.cluster.create({ data, select: { id: true } });
    },
  };
}
export type ConnectionApi = Awaited<ReturnType<typeof startConnectionApi>>;
