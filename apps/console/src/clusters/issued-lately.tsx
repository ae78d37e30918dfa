import type { AuditEntryBody, Cluster } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { auditQuery } from '../api/queries.js';
import { actorOf } from '../audit/audit-entry-view.js';
import { useTeam } from '../shell/use-team.js';
import { AdminsOnly } from '../ui/admins-only.js';
import { Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';

const SHOWN = 20;

/** The newest kubeconfigs of a cluster name; the audit log has them for administrators only. */
export const issuedQuery = (team: string, name: string) =>
  auditQuery(team, { kind: 'kubeconfig', action: 'kubeconfig.issue', name, limit: SHOWN });

/** Who was issued a kubeconfig, and whether it is still valid. */
export function IssuedLately({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const { isAdmin } = useTeam();
  const { id, name } = cluster.metadata;
  const issued = useQuery({ ...issuedQuery(team, name), enabled: isAdmin });
  return (
    <Section title="Issued lately">
      {isAdmin ? (
        <Loaded query={issued} what="the audit log">
          {({ items }) => {
            // A deleted cluster may have had the name before.
            const entries = items.filter(({ target }) => target.id === id);
            return entries.length === 0 ? <Empty>No kubeconfig was issued yet.</Empty> : <Issued entries={entries} />;
          }}
        </Loaded>
      ) : (
        <AdminsOnly team={team} what="see who was issued a kubeconfig" />
      )}
    </Section>
  );
}

function Issued({ entries }: { readonly entries: readonly AuditEntryBody[] }) {
  return (
    <Table
      caption="Kubeconfigs, newest first"
      rows={entries}
      rowKey={({ id }) => id}
      columns={[
        { id: 'by', label: 'Issued to', cell: actorOf },
        { id: 'at', label: 'When', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { id: 'until', label: 'Valid until', cell: (entry) => <ValidUntil entry={entry} /> },
      ]}
    />
  );
}

function ValidUntil({ entry: { detail, outcome } }: { readonly entry: AuditEntryBody }) {
  const { expiresAt } = detail as { readonly expiresAt?: unknown };
  if (typeof expiresAt === 'string') return <Expiry at={expiresAt} />;
  return outcome === 'refused' ? 'not issued' : 'not known whether it was issued';
}
