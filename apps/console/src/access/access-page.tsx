import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { clustersQuery } from '../api/queries.js';
import { type Issue, issuedQuery, issuedTo, scopeWord } from '../clusters/recent-kubeconfigs.js';
import { useTeam } from '../shell/use-team.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { Expiry, useNow } from '../ui/time.js';
import { Issuers } from './issuers.js';
import { People } from './people.js';
import { Robots } from './robots.js';
import { RolesMatrix } from './roles.js';

/** The page shows who gets into the team: people, programs, and kubeconfigs that are still valid. */
export function AccessPage() {
  const { can } = useTeam();
  return (
    <Page>
      <People />
      {can('listServiceAccounts') && <Robots />}
      {can('listTrustedIssuers') && <Issuers />}
      <KubeconfigsOut />
      <RolesMatrix />
    </Page>
  );
}

/** The kubeconfigs of all clusters that are still valid: they cannot be revoked. */
function KubeconfigsOut() {
  const { slug } = useTeam();
  const clusters = useQuery(clustersQuery(slug));
  return (
    <Section title="Kubeconfigs that are out">
      <Loaded query={clusters} what="clusters">
        {(all) => <IssuesOf clusters={all.map(({ metadata }) => metadata.name)} />}
      </Loaded>
    </Section>
  );
}

function IssuesOf({ clusters }: { readonly clusters: readonly string[] }) {
  const { slug: team } = useTeam();
  const now = useNow();
  const issues = useQueries({ queries: clusters.map((name) => issuedQuery(team, name)) });
  const isOut = ({ expiresAt }: Issue) => expiresAt !== null && Date.parse(expiresAt) > now;
  const rows = issues.flatMap(({ data }, index) =>
    (data ?? []).filter(isOut).map((issue) => ({ ...issue, cluster: clusters[index] as string })),
  );
  const failed = issues.find(({ error }) => error !== null);
  return (
    <>
      {failed !== undefined && <Failed error={failed.error} what="Not all kubeconfigs could be loaded." />}
      {rows.length === 0 ? (
        <Empty>No kubeconfig is valid.</Empty>
      ) : (
        <Table
          caption="Valid kubeconfigs"
          rows={rows}
          rowKey={({ cluster, createdAt, issuedTo: to }) => `${cluster} ${createdAt} ${to?.id}`}
          columns={{
            Cluster: {
              sortBy: ({ cluster }) => cluster,
              cell: ({ cluster: name }) => (
                <Link to="/teams/$team/clusters/$name" params={{ team, name }} className="mono">
                  {name}
                </Link>
              ),
            },
            'Issued to': { isLong: true, cell: issuedTo },
            Access: scopeWord,
            'Valid until': {
              sortBy: ({ expiresAt }) => expiresAt ?? '',
              cell: ({ expiresAt }) => <Expiry at={expiresAt} />,
            },
          }}
        />
      )}
    </>
  );
}
