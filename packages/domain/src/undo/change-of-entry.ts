import type { AuditKind, AuditOutcome, FieldChange } from '@corral/contracts';
import { contentOf, type SetContent } from '../plan.js';

/** An entry of the audit log, as clients see it. */
export interface LoggedEntry {
  readonly kind: AuditKind;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly target: { readonly id: string; readonly name: string };
  readonly changes: readonly FieldChange[] | null;
  readonly dns: LoggedWrite | null;
}

interface LoggedWrite {
  readonly name: string;
  readonly type: string;
  readonly foundApplied: boolean | null;
  readonly beforeBody: unknown;
  readonly foundBody: unknown;
  readonly afterBody: unknown;
}

/** What an entry of the audit log did, as far as it can be taken back. */
export type ChangeOfEntry =
  | {
      readonly kind: 'recordSet';
      readonly name: string;
      readonly type: string;
      readonly before: SetContent | null;
      readonly after: SetContent | null;
    }
  | { readonly kind: 'cluster'; readonly name: string; readonly id: string; readonly changes: readonly FieldChange[] }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'impossible'; readonly reason: string };

const impossible = (reason: string): ChangeOfEntry => ({ kind: 'impossible', reason });
const nothing: ChangeOfEntry = { kind: 'nothing' };

const reasons: Partial<Record<AuditKind, string>> = {
  dns_token: 'A revoked token stays revoked: create another one. Revoke one that was created.',
  service_account: 'Tokens that ended stay so. Declare the service account as it was, and create another token.',
  kubeconfig: 'A kubeconfig cannot be called back. It expires by itself.',
  server: 'A server that was adopted is wiped. Deregister it, or adopt it again.',
  connection: 'Tokens of cloud projects are not shown again. Declare the connection with the token that it had.',
  session: 'Sign in again, or end the session.',
};
const OTHERS = 'Only changes of record sets, clusters and node pools can be taken back.';

export function changeOfEntry(entry: LoggedEntry): ChangeOfEntry {
  const { kind, action, outcome, target, changes, dns } = entry;
  if (dns !== null) return changeOfSet(entry, dns);
  if (outcome === 'refused') return nothing;
  if (kind !== 'cluster' && kind !== 'node-pool') return impossible(reasons[kind] ?? OTHERS);
  if (action === 'cluster.delete') {
    return impossible('A deleted cluster does not come back. Declare it again, and restore its data from your backup.');
  }
  if (changes === null || changes.length === 0) return nothing;
  if (changes.some(({ pointer, from }) => pointer === '/spec/connectionRef' && from === null)) {
    return impossible('It created the cluster. Delete the cluster if nobody needs it.');
  }
  return { kind: 'cluster', name: target.name, id: target.id, changes };
}

/** Actions before which a record set may be absent, and after which. For others its absence means that it was not known. */
const mayBegin = ['dns.create', 'dns.add_records', 'dns.drift'];
const mayEnd = ['dns.delete', 'dns.remove_records', 'dns.drift'];

function changeOfSet({ action, outcome }: LoggedEntry, dns: LoggedWrite): ChangeOfEntry {
  const { name, type } = dns;
  if (type === 'DEMO') return impossible(OTHERS);
  if (outcome === 'pending') return impossible('Its outcome is not known yet. Try again in a minute.');
  const isFound = outcome === 'observed' || (outcome === 'settled' && dns.foundApplied === true);
  if ((!isFound && outcome !== 'completed') || action === 'dns.remind') return nothing;
  const [before, after] = [dns.beforeBody, isFound ? dns.foundBody : dns.afterBody];
  // A body that was cut is a text.
  if (typeof before !== 'object' || typeof after !== 'object') {
    return impossible('The record set is too large for the log, which has only a part of it.');
  }
  if ((before === null && !mayBegin.includes(action)) || (after === null && !mayEnd.includes(action))) {
    return impossible('The log does not know the record set before and after this change.');
  }
  return { kind: 'recordSet', name, type, before: contentOfBody(before), after: contentOfBody(after) };
}

/** @param body a record set as the DNS API answers it */
export const contentOfBody = (body: object | null): SetContent | null =>
  body === null ? null : contentOf({ records: [], ttl: null, labels: {}, ...body });
