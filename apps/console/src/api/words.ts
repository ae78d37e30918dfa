import type { AuditKind, AuditOutcome, Condition, OperationKind } from '@corral/contracts';

/*
 * English for the names of the API. Plans, the audit log, the home page and operations use the same words.
 */

/** What is being done: "Creating web". */
export const doing: Readonly<Record<OperationKind, string>> = {
  'cluster.create': 'Creating',
  'cluster.update': 'Updating',
  'cluster.hibernate': 'Hibernating',
  'cluster.resume': 'Resuming',
  'cluster.delete': 'Deleting',
  'connection.verify': 'Checking the token of',
  'server.adopt': 'Adopting',
  'server.deregister': 'Deregistering',
};

/** Actions of the audit log and kinds of operations, as what somebody did: "ada created cluster web". */
const done: Readonly<Record<string, string>> = {
  'cluster.create': 'created cluster',
  'cluster.update': 'changed cluster',
  'cluster.declare': 'saved cluster',
  'cluster.hibernate': 'hibernated cluster',
  'cluster.resume': 'resumed cluster',
  'cluster.retry': 'retried cluster',
  'cluster.release': 'gave up cluster',
  'cluster.delete': 'deleted cluster',
  'cluster.add_name': 'put a name on cluster',
  'cluster.remove_name': 'took a name off cluster',
  'node-pool.declare': 'changed a pool of',
  'node-pool.delete': 'removed a pool of',
  'kubeconfig.issue': 'got a kubeconfig of',
  'connection.create': 'created connection',
  'connection.replace': 'changed connection',
  'connection.verify': 'checked connection',
  'connection.delete': 'deleted connection',
  'server.adopt': 'adopted server',
  'server.deregister': 'deregistered server',
  'server.join_command': 'got a join command of',
  'dns.create': 'created record set',
  'dns.delete': 'deleted record set',
  'dns.set_records': 'set the records of',
  'dns.add_records': 'added records to',
  'dns.remove_records': 'removed records from',
  'dns.update_records': 'changed records of',
  'dns.change_ttl': 'changed the TTL of',
  'dns.update': 'changed the labels of',
  'dns.drift': 'changed record set',
  'dns.remind': 'reminded of the end of',
  'dns_token.create': 'created DNS token',
  'dns_token.hand_over': 'handed over DNS token',
  'dns_token.revoke': 'revoked DNS token',
  'team.create': 'created team',
  'team.rename': 'renamed team',
  'team.set_limit': 'changed a limit of team',
  'team.set_quota': 'changed a quota of team',
  'team.suspend': 'suspended team',
  'team.resume': 'ended the suspension of team',
  'team.hand_over': 'handed over team',
  'team.end_demos': 'ended the demos of',
  'member.add': 'added',
  'member.change': 'changed the role of',
  'member.leave': 'left the team:',
  'member.remove': 'removed',
  'invitation.create': 'invited',
  'invitation.create_user': 'created a person for the invitation of',
  'invitation.renew': 'sent again the invitation of',
  'invitation.revoke': 'revoked the invitation of',
  'invitation.accept': 'accepted the invitation of',
  'invitation.decline': 'declined the invitation of',
  'subscription.state': 'stated the subscription of',
  'session.allow_device': 'allowed the sign-in of',
  'session.refuse_device': 'refused the sign-in of',
  'service_account.create': 'created service account',
  'service_account.change': 'changed service account',
  'service_account.delete': 'deleted service account',
  'service_account.create_token': 'created a token of service account',
  'service_account.revoke_token': 'revoked a token of service account',
  'service_account.trust_issuer': 'trusted issuer',
  'service_account.change_issuer': 'changed issuer',
  'service_account.distrust_issuer': 'ended the trust in issuer',
  'service_account.exchange_token': 'exchanged a token of service account',
  'webhook.create': 'created webhook',
  'webhook.change': 'changed webhook',
  'webhook.delete': 'deleted webhook',
  'webhook.replace_secret': 'replaced the secret of webhook',
  'webhook.replay': 'replayed events to webhook',
  'service_account.refuse_exchange': 'was refused a token of service account',
};

/** What an action or an operation is, after the name of who did it and before that of its target. */
export const didOf = (action: string): string => done[action] ?? action.replace(/[._-]/g, ' ');

/** What an action is, by itself: "Created cluster". */
export const actionName = (action: string): string => didOf(action).replace(/^./, (first) => first.toUpperCase());

/** All actions that have words, as choices. */
export const knownActions: readonly string[] = Object.keys(done);

/** The kinds of targets in the audit log. */
export const auditKindNames: Readonly<Record<AuditKind, string>> = {
  dns: 'Record sets',
  dns_token: 'DNS tokens',
  cluster: 'Clusters',
  'node-pool': 'Node pools',
  connection: 'Connections',
  kubeconfig: 'Kubeconfigs',
  server: 'Servers',
  team: 'The team',
  member: 'Members',
  invitation: 'Invitations',
  subscription: 'Subscription',
  session: 'Sessions',
  service_account: 'Service accounts',
  webhook: 'Webhooks',
};

export const auditOutcomeNames: Readonly<Record<AuditOutcome, string>> = {
  pending: 'Under way',
  completed: 'Done',
  refused: 'Refused',
  unsent: 'Refused before sending',
  settled: 'Found out later',
  observed: 'Seen at the provider',
};

const conditionNames: Readonly<Record<string, string>> = {
  SpecAccepted: 'Specification',
  ConnectionReady: 'Connection',
  ControlPlaneReady: 'Control plane',
  NodesReady: 'Nodes',
  Reconciled: 'Matches its specification',
  Drifted: 'Changed by others',
  ShootMissing: 'Removed by others',
  AbsenceConfirmed: 'Nothing is left',
  APIServerAvailable: 'API server',
  ControlPlaneHealthy: 'Parts of the control plane',
  EveryNodeReady: 'Every node',
  SystemComponentsHealthy: 'System components',
  ObservabilityComponentsHealthy: 'Monitoring',
  HibernationPossible: 'Can be hibernated',
  MaintenancePreconditionsSatisfied: 'Can be maintained',
};

/** The name of a condition: others than the known ones come from the garden. */
export const conditionNameOf = (type: string): string =>
  conditionNames[type] ??
  type
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replace(/^./, (first) => first.toUpperCase());

/** These say that something is wrong when they are true. */
const complaints: ReadonlySet<string> = new Set(['Drifted', 'ShootMissing']);

export type Health = 'well' | 'ill' | 'unknown' | 'asleep';

/** What a condition says about the health of its cluster. */
export function healthOf({ type, status, reason }: Pick<Condition, 'type' | 'status' | 'reason'>): Health {
  if (status === 'Unknown') return reason === 'Hibernated' ? 'asleep' : 'unknown';
  return (status === 'True') === complaints.has(type) ? 'ill' : 'well';
}

/** "no answer yet" instead of a sentence about not knowing. */
export const conditionText = (condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>): string => {
  const health = healthOf(condition);
  if (health === 'asleep') return 'not checked while hibernated';
  if (health === 'unknown') return 'no answer yet';
  return condition.message === '' ? condition.reason : condition.message;
};

/** The tariffs, which decide how nodes are paid for. */
export const planNames = { payg: 'Pay as you go', monthly: 'Monthly', annual: 'Annual' } as const;

/** Kinds of node pools: managed nodes are created and deleted as needed, all others are machines of the team. */
export const sourceNames = {
  managed: 'Managed',
  pooled: 'Adopted cloud servers',
  dedicated: 'Dedicated servers',
  onprem: 'Machines on site',
} as const;

const cities: Readonly<Record<string, string>> = {
  fsn1: 'Falkenstein',
  hel1: 'Helsinki',
  nbg1: 'Nuremberg',
  ash: 'Ashburn',
  hil: 'Hillsboro',
  sin: 'Singapore',
};

/** "hel1 Helsinki"; the name alone of a region that has no known city. */
export const regionText = (name: string): string => [name, cities[name]].filter(Boolean).join(' ');
