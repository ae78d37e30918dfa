import { newIdempotencyKey } from '@corral/client';
import { type Connection, isOpenOperation, type Operation } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { corral } from '../api/corral.js';
import {
  clustersQuery,
  connectionQuery,
  connectionsQuery,
  operationsQuery,
  serversQuery,
  teamKey,
} from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Copyable } from '../ui/copy.js';
import { DangerAction } from '../ui/danger.js';
import { Facts } from '../ui/facts.js';
import { LinkButton } from '../ui/link-button.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Failed, Loaded } from '../ui/states.js';
import { ClusterStatus, ConnectionStatus, OperationStatus } from '../ui/status.js';
import { Time } from '../ui/time.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { ChangeConnection } from './change-connection.js';
import { clustersUsing, lastVerification, storyOf } from './connection-rules.js';
import { sendIfUnedited } from './send-if-unedited.js';
import { ServerTable } from './server-table.js';

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

/** Asks the provider about the token now, and follows its answer. */
function Verification({ connection: { metadata } }: { readonly connection: Connection }) {
  const cache = useQueryClient();
  const { slug: team, can } = useTeam();
  const { ref, id } = metadata;
  const operations = useQuery(operationsQuery(team, id));
  const last = operations.data && lastVerification(operations.data, metadata);
  const verify = useMutation({
    mutationFn: () => corral.verifyConnection({ team, ref }, { idempotencyKey: newIdempotencyKey() }),
    onSettled: () => cache.invalidateQueries({ queryKey: [...teamKey(team), 'operations', id] }),
  });
  const isRunning = verify.isPending || (last !== undefined && isOpenOperation(last));
  if (!can('verifyConnection') && last === undefined) return null;
  return (
    <Section
      title="Verification"
      actions={
        can('verifyConnection') && (
          <Button onClick={() => verify.mutate()} loading={isRunning}>
            Verify now
          </Button>
        )
      }
    >
      <p className="muted">Checked when it is set, once a day, and whenever the provider refuses it.</p>
      <div aria-live="polite">{last !== undefined && <VerificationLine operation={last} />}</div>
      {verify.error !== null && <Failed error={verify.error} what="The verification did not start." />}
    </Section>
  );
}

function VerificationLine({ operation }: { readonly operation: Operation }) {
  const { state, createdBy, updatedAt } = operation;
  return (
    <p>
      <OperationStatus state={state} /> <Time at={updatedAt} />
      {createdBy !== null && `, requested by ${createdBy.email}`}. {storyOf(operation)}
    </p>
  );
}

function DeleteConnection({ connection }: { readonly connection: Connection }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const { ref } = connection.metadata;
  const [one, all] = [connectionQuery(team, ref), connectionsQuery(team)];
  const remove = async () => {
    await sendIfUnedited(
      connection,
      () => cache.fetchQuery({ ...one, staleTime: 0 }),
      (ifMatch) => corral.deleteConnection({ team, ref }, { ifMatch }),
    );
    announce(`Deleted ${ref}`);
    // The list that opens next does not show it for a moment.
    cache.setQueryData(all.queryKey, (known) => known?.filter(({ metadata }) => metadata.ref !== ref));
    await navigate({ to: '/teams/$team/connections', params: { team } });
    cache.removeQueries({ queryKey: one.queryKey });
    await cache.invalidateQueries({ queryKey: all.queryKey });
  };
  return (
    <Section title="Delete">
      <p className="muted">Possible while neither a cluster nor an adopted server uses the connection.</p>
      <div>
        <DangerAction
          label="Delete connection"
          title={`Delete ${ref}`}
          confirmation={ref}
          action="Delete connection"
          onConfirm={remove}
        >
          <p>Corral erases its token and can no longer reach the project. The project itself and its servers stay.</p>
        </DangerAction>
      </div>
    </Section>
  );
}
