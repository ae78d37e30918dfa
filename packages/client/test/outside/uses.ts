/*
 * What the types promise, as a project outside of this repository sees them. A line after `@ts-expect-error` must not compile.
 */
import {
  type ClusterSchemas,
  CorralError,
  createClient,
  createDnsClient,
  edit,
  isCorralError,
  type Operation,
  type TeamEvent,
} from '@corral/client';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(...given: T[]): number => given.length;

const corral = createClient({ baseUrl: 'https://clusters.example', credentials: { bearer: 'secret' } });
const dns = createDnsClient({ baseUrl: 'https://dns.example/v1', credentials: { bearer: async () => 'secret' } });
const web = { team: 'acme', name: 'web' };
const spec = { connectionRef: 'main', region: 'hel1', kubernetesVersion: '1.34', nodePools: [] };

export async function clusters(): Promise<void> {
  const { body: cluster, etag } = await corral.getCluster(web);
  isTrue<Same<typeof cluster, ClusterSchemas['Cluster']>>();

  const accepted = await corral.putCluster(web, {
    body: { spec },
    ifMatch: etag ?? undefined,
    query: { dryRun: false },
  });
  if (accepted.status === 202) {
    // An accepted cluster is a cluster.
    isTrue<Same<typeof accepted.body.resource, typeof cluster>>();
    isTrue<Same<typeof accepted.body.operation, Operation>>();
    // What was read can be sent back.
    await corral.putCluster(web, { body: accepted.body.resource, ifMatch: accepted.body.resource.metadata.etag });
  }
  if (accepted.operation !== null) {
    const { state } = await corral.waitForOperation(accepted.operation, { onProgress: ({ progress }) => progress + 1 });
    isTrue<Same<typeof state, Operation['state']>>();
  }
  for await (const each of corral.list('listClusters', { team: 'acme' }, { query: { phase: ['Ready'] } })) {
    isTrue<Same<typeof each, typeof cluster>>();
  }
  const connections = await corral.listAll('listConnections', { team: 'acme' });
  isTrue<Same<(typeof connections)[number], ClusterSchemas['Connection']>>();
  for await (const entry of corral.lines('exportAudit', { team: 'acme' }, { query: { kind: 'cluster' } })) {
    isTrue<Same<typeof entry, ClusterSchemas['AuditEntry']>>();
  }

  const answer = await edit(
    () => corral.getCluster(web),
    (current, ifMatch) => corral.putCluster(web, { body: current, ifMatch }),
  );
  isTrue<Same<typeof answer.status, 200 | 202>>();
  isTrue<Same<NonNullable<Awaited<ReturnType<typeof corral.readIfChanged<'getCluster'>>>>['body'], typeof cluster>>();

  const removed = await corral.deleteCluster(web);
  if (removed.status === 204) isTrue<Same<typeof removed.body, undefined>>();
  await corral.getMe();
  await corral.getMe({}, { timeoutMs: 1_000 });
  await corral.issueKubeconfig(web);
  await corral.issueKubeconfig(web, { body: { ttlSeconds: 600, scope: 'viewer' } });
}

export async function events(): Promise<void> {
  for await (const message of corral.followEvents('acme', { after: null })) {
    if (message.type === 'event') isTrue<Same<typeof message.event, TeamEvent>>();
  }
}

export async function records(): Promise<void> {
  const zone = { zone: 'example.test' };
  const { body } = await dns.createRrset(zone, {
    body: { name: 'www.acme', type: 'A', records: [{ value: '192.0.2.1' }] },
  });
  const action = await dns.waitForAction(body.action.id);
  isTrue<Same<typeof action.status, 'running' | 'success' | 'error'>>();
  for await (const rrset of dns.list('listRrsets', zone, { query: { type: ['A'] } })) rrset.records[0]?.value;
  await dns.deleteRrset({ ...zone, name: 'www.acme', type: 'A' });
}

export function errors(error: unknown): string | undefined {
  if (isCorralError(error)) isTrue<Same<typeof error, CorralError>>();
  return error instanceof CorralError ? error.errors[0]?.pointer : undefined;
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error a path needs all its parameters
  await corral.getCluster({ team: 'acme' });
  // @ts-expect-error a declaration needs a body
  await corral.putCluster(web);
  // @ts-expect-error a body has the members of the schema
  await corral.putCluster(web, { body: { spec: { ...spec, regoin: 'hel1' } } });
  // @ts-expect-error a body has the types of the schema
  await corral.issueKubeconfig(web, { body: { ttlSeconds: '600' } });
  // @ts-expect-error a phase is one of those that exist
  await corral.listClusters({ team: 'acme' }, { query: { phase: ['Reday'] } });
  // @ts-expect-error a kubeconfig cannot be requested under a key
  await corral.issueKubeconfig(web, { idempotencyKey: 'once' });
  // @ts-expect-error reading has no condition on the tag
  await corral.getCatalogue({ team: 'acme' }, { ifMatch: '"x"' });
  // @ts-expect-error an operation is one of the document
  await corral.getClusters(web);
  // @ts-expect-error a redirect of a browser is not an operation of the client
  await corral.startSignIn();
  // @ts-expect-error a stream is followed, not called
  await corral.streamTeamEvents({ team: 'acme' });
  // @ts-expect-error a list has no entity tag
  await corral.readIfChanged('listClusters', { team: 'acme' }, 'x');
  // @ts-expect-error one cluster is not a list
  corral.list('getCluster', web);
  // @ts-expect-error not every answer has a body
  (await corral.deleteCluster(web)).body.operation;
  // @ts-expect-error credentials are of one kind
  createClient({ baseUrl: '', credentials: { token: 'x' } });
}
