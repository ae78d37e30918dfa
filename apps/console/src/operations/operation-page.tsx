import type { Operation } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { clusterQuery, operationQuery } from '../api/queries.js';
import { doing } from '../api/words.js';
import { useTeam } from '../shell/use-team.js';
import { Copyable } from '../ui/copy.js';
import { Page, Section } from '../ui/page.js';
import { Loaded } from '../ui/states.js';
import { Health, OperationProgress } from './operation-progress.js';

/** Follows one operation. */
export function OperationPage() {
  const { slug } = useTeam();
  const { id } = useParams({ from: '/signed-in/teams/$team/operations/$id' });
  const operation = useQuery(operationQuery(slug, id));
  const title =
    operation.data === undefined ? undefined : `${doing[operation.data.kind]} ${operation.data.target.name}`;
  return (
    <Page title={title}>
      <Loaded query={operation} what="the operation">
        {(found) => <OperationOfTarget operation={found} />}
      </Loaded>
    </Page>
  );
}

function OperationOfTarget({ operation }: { readonly operation: Operation }) {
  const { slug: team } = useTeam();
  const { target } = operation;
  const isOfCluster = operation.kind.startsWith('cluster.');
  const cluster = useQuery({ ...clusterQuery(team, target.name), enabled: isOfCluster });
  // Another cluster may have taken the name since.
  const found = cluster.data?.metadata.id === target.id ? cluster.data : null;
  return (
    <>
      <p>
        Operation <Copyable text={operation.id} />
        {found !== null && (
          <>
            {' '}
            of{' '}
            <Link to="/teams/$team/clusters/$name" params={{ team, name: target.name }} className="mono">
              {target.name}
            </Link>
          </>
        )}
      </p>
      <OperationProgress operation={operation} cluster={found} />
      {found !== null && (
        <Section title="Health">
          <Health cluster={found} />
        </Section>
      )}
    </>
  );
}
