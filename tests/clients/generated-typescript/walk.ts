import createClient from 'openapi-fetch';
import type { components, paths } from './generated/cluster.js';
import type { components as dnsComponents, paths as dnsPaths } from './generated/dns.js';

/* Declares a cluster, waits until it is ready, and deletes it, with types generated from the OpenAPI document. */

declare const process: { readonly env: Readonly<Record<string, string>> };
declare const console: { readonly log: (line: string) => void };
declare const setTimeout: (done: () => void, ms: number) => void;

type Schemas = components['schemas'];
type Dns = dnsComponents['schemas'];
/** Whether two types are one, and not only assignable to each other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Json<A> = A extends { content: { 'application/json': infer Body } } ? Body : never;
type Answers<P extends keyof paths, M extends keyof paths[P]> = paths[P][M] extends { responses: infer R } ? R : never;
const OneCluster = '/api/v1/teams/{team}/clusters/{name}/';
type Accepted = Json<Answers<typeof OneCluster, 'put'>[202]>;
type Read = Json<Answers<typeof OneCluster, 'get'>[200]>;
type ActionOf<P extends keyof dnsPaths> = dnsPaths[P] extends { get: { responses: { 200: infer R } } }
  ? Json<R> extends { action: infer A }
    ? A
    : never
  : never;

/** What holds for the types, which the compiler checks. */
export const sameThings: {
  readonly accepted: Same<Accepted['resource'], Read>;
  readonly listed: Same<Schemas['ClusterList']['items'][number], Schemas['Cluster']>;
  readonly shownByDryRun: Same<Schemas['ClusterDryRun']['resource'], Schemas['Cluster']>;
  readonly operation: Same<Accepted['operation'], Schemas['Operation']>;
  readonly created: Same<Dns['RrsetCreated']['rrset'], Dns['RrsetList']['rrsets'][number]>;
  readonly action: Same<Dns['RrsetCreated']['action'], ActionOf<'/actions/{id}'>>;
  /** What was read can be sent back. */
  readonly sentBack: Read extends Schemas['ClusterDeclaration'] ? true : false;
} = {
  accepted: true,
  listed: true,
  shownByDryRun: true,
  operation: true,
  created: true,
  action: true,
  sentBack: true,
};

const {
  CORRAL_TEAM: team,
  CORRAL_CLUSTER: name,
  CORRAL_REGION: region,
  CORRAL_CONNECTION: connectionRef,
} = process.env as Record<`CORRAL_${'TEAM' | 'CLUSTER' | 'REGION' | 'CONNECTION'}`, string>;
const client = createClient<paths>({
  baseUrl: process.env.CORRAL_CLUSTERS as string,
  headers: { cookie: `sessionid=${process.env.CORRAL_SESSION}` },
});
const path = { team, name };
const say = (step: string, facts: object): void => console.log(JSON.stringify({ step, ...facts }));

async function ended(operation: Schemas['Operation']): Promise<Schemas['Operation']> {
  if (operation.state !== 'queued' && operation.state !== 'running') return operation;
  await new Promise<void>((done) => setTimeout(done, 100));
  const { data } = await client.GET('/api/v1/teams/{team}/operations/{id}/', {
    params: { path: { team, id: operation.id } },
  });
  if (data === undefined) throw new Error('The operation cannot be read');
  return ended(data);
}

/** @throws Error unless the change was accepted */
function acceptedOf(body: Accepted | Schemas['Cluster'] | object | undefined): Accepted {
  if (body === undefined || !('operation' in body)) throw new Error(`Not accepted: ${JSON.stringify(body)}`);
  return body as Accepted;
}

const spec: Schemas['ClusterSpecInput'] = {
  connectionRef,
  region,
  kubernetesVersion: '1.34',
  nodePools: [{ name: 'general', machineType: 'cpx31', minimum: 1, maximum: 1 }],
};
const put = await client.PUT(OneCluster, { params: { path }, body: { spec } });
const { operation, resource } = acceptedOf(put.data);
const accepted: Schemas['Cluster'] = resource;
say('accepted', { name: accepted.metadata.name });
say('created', { state: (await ended(operation)).state });

const { data: read } = await client.GET(OneCluster, { params: { path } });
say('read', { phase: read?.status.phase, pools: read?.spec.nodePools.map((pool) => pool.name) });
if (read === undefined) throw new Error('The cluster cannot be read');
const back = await client.PUT(OneCluster, { params: { path }, body: read });
say('sentBack', { status: back.response.status });

const removed = await client.DELETE(OneCluster, { params: { path } });
say('deleted', { state: (await ended(acceptedOf(removed.data).operation)).state });
const { error } = await client.GET(OneCluster, { params: { path } });
say('missing', { code: error?.code });
