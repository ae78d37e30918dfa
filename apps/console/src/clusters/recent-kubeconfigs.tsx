import type { Cluster, ClusterAnswerBody } from '@corral/contracts';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { bodyOf, corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';

export type Issue = ClusterAnswerBody<'kubeconfigIssueList'>['items'][number];

export const issuedQuery = (team: string, name: string) =>
  queryOptions({
    queryKey: [...teamKey(team), 'kubeconfig-issues', name],
    queryFn: ({ signal }) => bodyOf(corral.listKubeconfigIssues({ team, name }, { signal })),
    // No event announces a new issue.
    staleTime: 10_000,
  });

export const issuedTo = ({ issuedTo: person, serviceAccount }: Issue): string =>
  person?.displayName ?? (serviceAccount === null ? 'a former user' : `service account ${serviceAccount}`);

export const scopeWord = ({ scope }: Issue): string => (scope === 'cluster-admin' ? 'full' : 'read only');

/** Shows who was issued a kubeconfig, and whether it is still valid. */
export function RecentKubeconfigs({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const issued = useQuery(issuedQuery(team, cluster.metadata.name));
  return (
    <Section title="Recently issued">
      <Loaded query={issued} what="the issued kubeconfigs">
        {({ items }) => (items.length === 0 ? <Empty>No kubeconfig was issued yet.</Empty> : <Issued issues={items} />)}
      </Loaded>
    </Section>
  );
}

function Issued({ issues }: { readonly issues: readonly Issue[] }) {
  return (
    <Table
      caption="Kubeconfigs, newest first"
      rows={issues}
      rowKey={(issue) => `${issue.createdAt} ${issue.issuedTo?.id ?? issue.serviceAccount}`}
      columns={[
        {
          id: 'to',
          label: 'Issued to',
          isLong: true,
          cell: issuedTo,
        },
        { id: 'scope', label: 'Access', cell: scopeWord },
        { id: 'at', label: 'When', cell: ({ createdAt }) => <Time at={createdAt} /> },
        { id: 'until', label: 'Valid until', cell: (issue) => <ValidUntil issue={issue} /> },
      ]}
    />
  );
}

function ValidUntil({ issue: { expiresAt, outcome } }: { readonly issue: Issue }) {
  if (expiresAt !== null) return <Expiry at={expiresAt} />;
  return outcome === 'refused' ? 'not issued' : 'not known whether it was issued';
}
