import type { Connection } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { clustersQuery, connectionQuery, serversQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Copyable } from '../ui/copy.js';
import { Facts } from '../ui/facts.js';
import { LinkButton } from '../ui/link-button.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { ClusterStatus, ConnectionStatus } from '../ui/status.js';
import { Time } from '../ui/time.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { ChangeConnection } from './change-connection.js';
import { clustersUsing } from './connection-rules.js';
import { DeleteConnection } from './delete-connection.js';
import { ServerTable } from './server-table.js';
import { Verification } from './verification.js';

/** One connection: what the provider says about it, what uses it, and its servers. */
export function ConnectionPage() {
  const { ref } = useParams({ from: '/signed-in/teams/$team/connections/$ref' });
  const { slug: team, can } = useTeam();
  const connection = useQuery(connectionQuery(team, ref));
  const [isChanging, setChanging] = useState(false);
  useFocusKept('[data-shortcut="e"]', isChanging);
  const status = connection.data?.status;
  return (
    <Page
      title={connection.data?.metadata.name ?? ref}
      aside={status && <ConnectionStatus phase={status.phase} />}
      actions={
        can('putConnection') &&
        connection.data &&
        !isChanging && (
          <Button data-shortcut="e" onClick={() => setChanging(true)}>
            Replace token or name
          </Button>
        )
      }
    >
      <Loaded query={connection} what="the connection">
        {(known) => (
          <>
            {known.status.message !== '' && (
              <Empty
                action={
                  can('putConnection') && known.status.phase === 'Rejected' && !isChanging ? (
                    <Button variant="filled" onClick={() => setChanging(true)}>
                      Replace token
                    </Button>
                  ) : undefined
                }
              >
                {known.status.message}
              </Empty>
            )}
            {isChanging && <ChangeConnection connection={known} onDone={() => setChanging(false)} />}
            <ConnectionFacts connection={known} />
            <Verification connection={known} />
            <UsedBy connection={known} />
            <Servers connection={known} />
            {can('deleteConnection') && <DeleteConnection connection={known} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function ConnectionFacts({ connection: { metadata, spec, status } }: { readonly connection: Connection }) {
  const { project, verifiedAt } = status;
  return (
    <Facts
      facts={[
        { label: 'ID', value: <Copyable text={metadata.ref} /> },
        { label: 'Provider', value: spec.provider },
        { label: 'Token accepted', value: verifiedAt === null ? 'never' : <Time at={verifiedAt} /> },
        { label: 'Token', value: projectText(project) },
        { label: 'Billed in', value: project?.currency ?? 'not known' },
        { label: 'Changed', value: <Time at={metadata.updatedAt} /> },
      ]}
    />
  );
}

function projectText(project: Connection['status']['project']): string {
  if (project === null) return 'not known';
  if (!project.reachable) return 'no access to the project';
  return project.readOnly === true ? 'read only' : 'read and write';
}

interface PartProps {
  readonly connection: Connection;
}

function UsedBy({ connection: { metadata, status } }: PartProps) {
  const { slug: team } = useTeam();
  const clusters = useQuery(clustersQuery(team));
  return (
    <Section title="Clusters">
      <Loaded query={clusters} what="clusters">
        {(all) => {
          const using = clustersUsing(all, metadata.ref);
          if (using.length === 0) return <p className="muted">No cluster uses it.</p>;
          return (
            <>
              {status.phase === 'Rejected' && <p>These clusters keep running, but wait with changes:</p>}
              <Group gap="md">
                {using.map(({ metadata: { name }, status: { phase } }) => (
                  <span key={name}>
                    <Link to="/teams/$team/clusters/$name" params={{ team, name }}>
                      {name}
                    </Link>{' '}
                    <ClusterStatus phase={phase} />
                  </span>
                ))}
              </Group>
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}

function Servers({ connection }: PartProps) {
  const { slug: team, can } = useTeam();
  const { ref } = connection.metadata;
  const servers = useQuery(serversQuery(team, ref));
  return (
    <Section
      title="Adopted servers"
      actions={
        can('adoptServer') && (
          <LinkButton to={`/teams/${team}/connections/${ref}/servers/+`} variant="default" shortcut="n">
            Adopt server
          </LinkButton>
        )
      }
    >
      <Loaded query={servers} what="servers">
        {(all) =>
          all.length === 0 ? (
            <p className="muted">No server is adopted. Node pools can use servers that the team already pays for.</p>
          ) : (
            <ServerTable connection={connection} servers={all} />
          )
        }
      </Loaded>
    </Section>
  );
}
