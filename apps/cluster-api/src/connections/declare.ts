import { randomInt, randomUUID, timingSafeEqual } from 'node:crypto';
import { makeUsersDue } from '@corral/cluster-data';
import {
  asConnectionId,
  type ConnectionId,
  type ConnectionSpecInput,
  clusterLimits,
  type TokenVerdict,
} from '@corral/contracts';
import { type AuditedChange, recordAudit } from '../audit/record-audit.js';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import { registerKey } from '../changes/idempotency-keys.js';
import { found, Problem } from '../problem.js';
import { isOtherProject } from '../servers/cloud-project.js';
import type { Services } from '../services.js';
import { checkConnectionSpec, isUnchanged, tokenStatusOf } from './rules.js';
import {
  type ConnectionChange,
  countConnections,
  findById,
  findConnection,
  insertConnection,
  lockConnectionOf,
  replaceConnection,
  resourcesInProject,
  restateConnection,
  type StoredConnection,
} from './store.js';
import { type ConnectionRecord, connectionTagOf } from './view.js';

/*
 * The provider is asked before the transaction begins, so no lock waits for it. A rejected token is stored too: the connection's
 * status says what is wrong, and its clusters wait for another token.
 */

/**
 * Creates a connection with a generated ref.
 *
 * @throws Problem `validation_failed`, `quota_exceeded`, `idempotency_key_reused`
 */
export async function createConnection(
  services: Services,
  caller: Caller,
  spec: ConnectionSpecInput & { token: string },
  request: KeyedRequest | null,
): Promise<ConnectionRecord> {
  checkConnectionSpec(null, spec);
  const judged = await judge(services, caller, spec.token);
  const created = await services.changeTeam(caller, async (tx, now) => {
    const change = { tx, caller, now };
    const id = asConnectionId(randomUUID());
    const madeBefore = await registerKey(tx, caller, request, id);
    if (madeBefore === null) return make(services, change, { id, ref: makeConnectionRef() }, spec, judged);
    return found(await findById(change, madeBefore));
  });
  services.wake.connections();
  return created;
}

/**
 * Creates or replaces the connection with this ref. A new token or phase wakes the clusters and servers that use it.
 *
 * @throws Problem `validation_failed`, `immutable_field`, `quota_exceeded`, `connection_project_mismatch`,
 *   `precondition_failed`
 */
export async function declareConnection(
  services: Services,
  caller: Caller,
  ref: string,
  spec: ConnectionSpecInput,
  preconditions: Preconditions,
): Promise<{ connection: ConnectionRecord; isNew: boolean }> {
  const check = (current: ConnectionRecord | null) => checkDeclaration(current, spec, preconditions);
  check(await findConnection(services.prisma, caller, ref));
  const judged = await judgeDeclared(services, caller, ref, spec);
  const { users, isDue, ...declared } = await services.changeTeam(caller, async (tx, now) => {
    const change = { tx, caller, now };
    const current = await lockConnectionOf(change, ref);
    check(current); // again, because it may have changed since the first check
    if (current === null) {
      const id = asConnectionId(randomUUID());
      // `check` requires the token of a new connection.
      const made = await make(services, change, { id, ref }, spec, judged as JudgedToken);
      return { connection: made, isNew: true, isDue: true, users: null };
    }
    const { connection, affectsUsers } = await replace(services, change, current, spec, judged);
    const users = affectsUsers ? await makeUsersDue(tx, caller.team.id, connection.id) : null;
    return { connection, isNew: false, isDue: affectsUsers, users };
  });
  for (const id of users?.clusters ?? []) services.wake.cluster(id);
  for (const id of users?.servers ?? []) services.wake.server(id);
  if (isDue) services.wake.connections();
  return declared;
}

/**
 * The connection as it would be, with what the provider says about its token. Stores nothing.
 *
 * @param ref null: one would be generated
 * @throws Problem `validation_failed`, `immutable_field`, `quota_exceeded`, `connection_project_mismatch`, `precondition_failed`
 */
export async function previewConnection(
  services: Services,
  caller: Caller,
  ref: string | null,
  spec: ConnectionSpecInput,
  preconditions: Preconditions = { ifMatch: null, ifNoneMatch: null },
): Promise<ConnectionRecord> {
  const current = ref === null ? null : await findConnection(services.prisma, caller, ref);
  checkDeclaration(current, spec, preconditions);
  if (current === null) await checkQuota({ tx: services.prisma, caller });
  const judged = await judgeDeclared(services, caller, ref, spec);
  const now = new Date();
  const shown = current ?? newConnection(ref ?? makeConnectionRef(), now);
  const { phase, message, project, isVerified } =
    judged === null ? { ...shown, isVerified: false } : tokenStatusOf(judged.verdict, null, 0);
  const { name = shown.name, provider, providerConfig } = spec;
  const verifiedAt = isVerified ? now : judged === null ? shown.verifiedAt : null;
  return { ...shown, name, provider, providerConfig, phase, message, project, verifiedAt };
}

const newConnection = (ref: string, now: Date): ConnectionRecord => ({
  id: asConnectionId(randomUUID()),
  ...{ ref, name: ref, generation: 1, provider: '', providerConfig: {} },
  ...{ phase: 'Unverified', message: '', project: null, verifiedAt: null, currency: null },
  createdAt: now,
  updatedAt: now,
});

function checkDeclaration(
  current: ConnectionRecord | null,
  spec: ConnectionSpecInput,
  preconditions: Preconditions,
): void {
  checkPreconditions(preconditions, current && connectionTagOf(current));
  checkConnectionSpec(current, spec);
}

/**
 * @returns null without a new token
 * @throws Problem `connection_project_mismatch`
 */
async function judgeDeclared(
  services: Services,
  caller: Caller,
  ref: string | null,
  { token }: ConnectionSpecInput,
): Promise<JudgedToken | null> {
  const judged = token === undefined ? null : await judge(services, caller, token);
  if (judged !== null && ref !== null) await refuseOtherProject(services, caller, ref, judged.token);
  return judged;
}

interface JudgedToken {
  readonly token: string;
  readonly verdict: TokenVerdict;
}

const judge = async ({ upstreams }: Services, { scope }: Caller, token: string): Promise<JudgedToken> => ({
  token,
  verdict: await upstreams.verifyToken(scope, token),
});

/** @throws Problem `connection_project_mismatch` when the token certainly belongs to another cloud project than the connection's resources */
async function refuseOtherProject(services: Services, caller: Caller, ref: string, token: string): Promise<void> {
  const resources = await resourcesInProject(services.prisma, caller, ref);
  if (!(await isOtherProject(services, caller.scope, token, resources))) return;
  throw new Problem(
    'connection_project_mismatch',
    'The nodes or adopted servers of the connection are not in the project of this token. Use a token of the same project.',
  );
}

async function checkQuota(change: Parameters<typeof countConnections>[0]): Promise<void> {
  const most = clusterLimits.connectionsPerTeam;
  if ((await countConnections(change)) < most) return;
  throw new Problem('quota_exceeded', `The limit per team is ${most} connections. Delete an unused one.`);
}

async function make(
  { secrets }: Services,
  change: ConnectionChange,
  { id, ref }: { readonly id: ConnectionId; readonly ref: string },
  { name = ref, provider, providerConfig }: ConnectionSpecInput,
  { token, verdict }: JudgedToken,
): Promise<ConnectionRecord> {
  await checkQuota(change);
  const tokenStatus = tokenStatusOf(verdict, null, Math.random());
  const sealed = secrets.seal(token, id);
  const made = await insertConnection(change, { id, ref, name, provider, providerConfig, tokenStatus, sealed });
  await audit(change, 'connection.create', made, { detail: { phase: made.phase } });
  return made;
}

interface Replaced {
  readonly connection: ConnectionRecord;
  /** Whether clusters and servers that use the connection must be reconciled. */
  readonly affectsUsers: boolean;
}

async function replace(
  { secrets }: Services,
  change: ConnectionChange,
  current: StoredConnection,
  { name = current.name, providerConfig }: ConnectionSpecInput,
  judged: JudgedToken | null,
): Promise<Replaced> {
  // A token whose key is no longer in the ring counts as absent.
  const isNewToken = judged !== null && !isSameText(secrets.openOrNull(current.sealed, current.id), judged.token);
  const tokenStatus = judged && tokenStatusOf(judged.verdict, isNewToken ? null : current, Math.random());
  if (!isNewToken && isUnchanged(current, name, providerConfig)) {
    const connection = tokenStatus === null ? current : await restateConnection(change, current, tokenStatus);
    return { connection, affectsUsers: connection.phase !== current.phase };
  }
  const sealed = isNewToken ? secrets.seal(judged.token, current.id) : null;
  const connection = await replaceConnection(change, current.id, { name, providerConfig, tokenStatus, sealed });
  await audit(change, 'connection.replace', connection, {
    changes: current.name === name ? [] : [{ pointer: '/spec/name', from: current.name, to: name }],
    detail: { phase: connection.phase, tokenReplaced: isNewToken },
  });
  return { connection, affectsUsers: isNewToken || connection.phase !== current.phase };
}

async function audit(
  { tx, caller }: ConnectionChange,
  action: 'connection.create' | 'connection.replace',
  { id, ref }: ConnectionRecord,
  what: Partial<AuditedChange>,
): Promise<void> {
  await recordAudit(tx, caller, { ...what, action, target: { kind: 'Connection', id, name: ref } });
}

/** Compares in constant time, so that the duration says nothing about the stored token. */
function isSameText(one: string | null, other: string): boolean {
  if (one === null) return false;
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Characters that are not easily confused: i, l, o, 0 and 1 are left out. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Generates a ref for a connection without one: `conn-` and 8 characters, 8.5 × 10^11 combinations. */
function makeConnectionRef(): string {
  return `conn-${Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')}`;
}
