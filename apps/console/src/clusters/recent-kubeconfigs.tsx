import type { Cluster, ClusterAnswerBody } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { corral, itemsOf } from '../api/corral.js';
import { ofTeam } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Section } from '../ui/page.js';
import { LoadedTable } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';

export type Issue = ClusterAnswerBody<'kubeconfigIssueList'>['items'][number];

export const issuedQuery = (team: string, name: string) =>
  ofTeam(
    team,
    ['kubeconfig-issues', name],
    (signal) => itemsOf(corral.listKubeconfigIssues({ team, name }, { signal })),
    {
      // No event announces a new issue.
      staleTime: 10_000,
    },
  );

export const issuedTo = ({ issuedTo: person, serviceAccount }: Issue): string =>
  person?.displayName ?? (serviceAccount === null ? 'a former user' : `service account ${serviceAccount}`);

export const scopeWord = ({ scope }: Issue): string => (scope === 'cluster-admin' ? 'full' : 'read only');

/** Shows who was issued a kubeconfig, and whether it is still valid. */
export function RecentKubeconfigs({ cluster }: { readonly cluster: Cluster }) {
  const { slug: team } = useTeam();
  const issued = useQuery(issuedQuery(team, cluster.metadata.name));
  return (
    <Section title="Recently issued">
      <LoadedTable
        query={issued}
        what="the issued kubeconfigs"
        empty="No kubeconfig was issued yet."
        caption="Kubeconfigs, newest first"
        rowKey={(issue) => `${issue.createdAt} ${issue.issuedTo?.id ?? issue.serviceAccount}`}
        columns={{
          'Issued to': { isLong: true, cell: issuedTo },
          Access: scopeWord,
          When: ({ createdAt }) => <Time at={createdAt} />,
          'Valid until': (issue) => <ValidUntil issue={issue} />,
        }}
      />
    </Section>
  );
}

function ValidUntil({ issue: { expiresAt, outcome } }: { readonly issue: Issue }) {
  if (expiresAt !== null) return <Expiry at={expiresAt} />;
  return outcome === 'refused' ? 'not issued' : 'not known whether it was issued';
}
