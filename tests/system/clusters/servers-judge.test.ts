import { describe, expect, it } from '@jest/globals';
import {
  findServerContradictions,
  type HeldServer,
  type KnownServer,
  type ServerRow,
} from '../../support/cluster-crashes/judge-servers.js';
import {
  learnOfServer,
  type ServerAnswer,
  type ServerBelief,
  type ServerWish,
} from '../../support/cluster-crashes/server-belief.js';
import type { RowChange } from '../../support/clusters/row-history.js';

/** The judge of the adoptions in the crash test must detect each kind of fault. */

type Change = Omit<RowChange, 'seq'>;
const history = (...changes: Change[]): RowChange[] => changes.map((change, index) => ({ ...change, seq: index + 1 }));

const server = (transaction: number, changes: Partial<ServerRow> = {}, kind: Change['kind'] = 'UPDATE'): Change => ({
  transaction: String(transaction),
  table: 'adopted_server',
  kind,
  row: {
    id: 's1',
    server_id: 4711,
    phase: 'Adopting',
    generation: 1,
    lease_fence: 1,
    claim_token: 'mine',
    rebuild_action_id: null,
    ...changes,
  },
});
const operation = (transaction: number, changes: object = {}, kind: Change['kind'] = 'UPDATE'): Change => ({
  transaction: String(transaction),
  table: 'operation',
  kind,
  row: {
    id: 'o1',
    kind: 'server.adopt',
    target_id: 's1',
    target_name: '4711',
    generation: 1,
    state: 'queued',
    progress: 0,
    error: {},
    desired_hash: 'sha256:1',
    ...changes,
  },
});

const accepted = [server(1, {}, 'INSERT'), operation(1, {}, 'INSERT')];
const asked = server(2, { phase: 'Rebuilding', rebuild_action_id: 7 });
const ready = [server(3, { phase: 'Ready', rebuild_action_id: 7 }), operation(3, { state: 'succeeded' })];
const detachment = { id: 'o2', kind: 'server.deregister' };
const detached = [
  server(4, { phase: 'Deregistering', rebuild_action_id: 7 }),
  operation(4, detachment, 'INSERT'),
  server(5, { rebuild_action_id: 7 }, 'DELETE'),
  operation(5, { ...detachment, state: 'succeeded' }),
];

const spec = {
  serverID: 4711,
  serverType: 'cx22',
  location: 'hel1',
  architecture: 'amd64',
  serverKind: 'cloud',
} as const;
const adopted: KnownServer = {
  spec,
  labels: { env: 'prod' },
  adopted: ['o1'],
  accepted: ['o1'],
  belief: { kind: 'adopted', operationId: 'o1' },
};
const free: KnownServer = { ...adopted, belief: { kind: 'free', wasAdopted: true } };
const claimed: HeldServer = {
  name: 'web',
  id: 4711,
  serverType: 'cx22',
  location: 'hel1',
  rebuilds: 1,
  powerOffs: 0,
  deletedBy: null,
  labels: { env: 'prod', 'corral.dev/claim': 'mine' },
};
const unclaimed: HeldServer = { ...claimed, labels: { env: 'prod' } };
const judge = (changes: Change[], known: KnownServer, held: HeldServer) =>
  findServerContradictions(history(...changes), { known: [known], held: [held] });

describe('the judge reports', () => {
  const done = [...accepted, asked, ...ready];
  const other = { id: 's2', claim_token: 'other' };

  it.each<[string, Change[], KnownServer, HeldServer, RegExp]>([
    ['a second rebuild', done, adopted, { ...claimed, rebuilds: 2 }, /rebuilt 2 times for 1 acknowledgements/],
    ['a rebuild that never happened', done, adopted, { ...claimed, rebuilds: 0 }, /rebuilt 0 times for 1 adoptions/],
    ['an adoption without an acknowledgement', done, { ...adopted, adopted: [] }, claimed, /1 adoptions, but 0/],
    ['a server that was deleted', done, adopted, { ...claimed, deletedBy: 'api' }, /deleted by api/],
    ['a server that was powered off', done, adopted, { ...claimed, powerOffs: 1 }, /powered off 1/],
    ['a claim that is missing', done, adopted, unclaimed, /has the labels/],
    ['a claim that stayed', [...done, ...detached], free, claimed, /has the labels/],
    [
      'labels of others that disappeared',
      done,
      adopted,
      { ...claimed, labels: { 'corral.dev/claim': 'mine' } },
      /labels/,
    ],
    ['an adoption that is lost', [...done, ...detached], adopted, unclaimed, /believed adopted, and is not there/],
    ['an adoption that stayed', done, free, claimed, /believed free, and is Ready/],
    ['an adoption that failed', [...done, server(4, { phase: 'Failed' })], adopted, claimed, /ended Failed/],
    [
      'another rebuild for the same acknowledgement',
      [...accepted, asked, server(3, { phase: 'Rebuilding', rebuild_action_id: 8 })],
      adopted,
      claimed,
      /another rebuild in its generation 1/,
    ],
    [
      'a rebuild that counts twice',
      [...done, ...detached, server(6, { ...other, rebuild_action_id: 7 }, 'INSERT')],
      free,
      unclaimed,
      /rebuild 7 counts for 2/,
    ],
    ['another claim', [...done, server(4, { claim_token: 'other' })], adopted, claimed, /claim_token/],
    ['a fence that fell', [...done, server(4, { lease_fence: 0 })], adopted, claimed, /lease_fence/],
    [
      'success before the rebuild',
      [...accepted, server(2, { phase: 'Ready' }), operation(2, { state: 'succeeded' })],
      adopted,
      claimed,
      /succeeded without a reason/,
    ],
    [
      'an adoption that nothing superseded',
      [...accepted, operation(2, { state: 'superseded' })],
      adopted,
      claimed,
      /superseded without a reason/,
    ],
    [
      'a deregistration of a server that still exists',
      [...done, operation(4, { ...detachment, state: 'succeeded' }, 'INSERT')],
      adopted,
      claimed,
      /succeeded without a reason/,
    ],
  ])('%s', (_what, changes, known, held, problem) => {
    expect(judge(changes, known, held).join('\n')).toMatch(problem);
  });
});

describe('the conclusions of the only client that adopts a server', () => {
  const answer = (status: number, changes: Partial<ServerAnswer> = {}): ServerAnswer => ({
    status,
    tries: 1,
    operationId: null,
    ...changes,
  });
  const never: ServerBelief = { kind: 'free', wasAdopted: false };
  const own: ServerBelief = { kind: 'adopted', operationId: 'o1' };

  it.each<[string, ServerBelief, ServerWish, ServerAnswer]>([
    ['an owner who does not exist', never, 'adopt', answer(409)],
    ['a second operation for one acknowledgement', own, 'adopt', answer(202, { operationId: 'o2' })],
    ['a refusal without a reason', never, 'adopt', answer(422)],
  ])('reports %s', (_what, before, wish, answered) => {
    expect(learnOfServer(before, wish, answered).problem).toMatch(/^was/);
  });
});
