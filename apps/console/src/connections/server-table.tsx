import { type AdoptedServer, type Connection, isOpenOperation, joinsByCommand } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { ofTeam, operationQuery, serversQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Copyable } from '../ui/copy.js';
import { DangerAction } from '../ui/danger.js';
import { RecordSetsLost } from '../ui/record-sets-lost.js';
import { Meter, ServerStatus } from '../ui/status.js';
import { type ColumnsOf, Table } from '../ui/table.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { storyOf } from './connection-rules.js';
import { JoinCommandDialog } from './join-command-dialog.js';

interface ServerTableProps {
  readonly connection: Connection;
  readonly servers: readonly AdoptedServer[];
}

export function ServerTable({ connection, servers }: ServerTableProps) {
  const { slug: team, can } = useTeam();
  const [joining, setJoining] = useState<AdoptedServer | null>(null);
  useFocusKept('[data-shortcut="n"]', servers.length);
  return (
    <>
      <Table
        caption="Adopted servers"
        rows={servers}
        rowKey={({ metadata }) => metadata.id}
        initialSort="Server"
        columns={{
          ...columnsOf(team),
          ...(can('deregisterServer') && {
            Actions: (server: AdoptedServer) => (
              <ServerActions connection={connection} server={server} onJoin={() => setJoining(server)} />
            ),
          }),
        }}
      />
      {joining !== null && (
        <JoinCommandDialog connectionRef={connection.metadata.ref} server={joining} onClose={() => setJoining(null)} />
      )}
    </>
  );
}

const columnsOf = (team: string): ColumnsOf<AdoptedServer> => ({
  Server: {
    isLong: true,
    sortBy: ({ metadata }) => metadata.name,
    cell: ({ metadata: { name, serverID } }) => (
      <div>
        <Copyable text={name} />
        {name !== String(serverID) && <div className="faint numeric">{serverID}</div>}
      </div>
    ),
  },
  Type: {
    sortBy: ({ spec }) => spec.serverType,
    cell: ({ spec: { serverType, location, architecture, serverKind } }) => (
      <div>
        <span className="mono">{serverType}</span>
        <div className="faint">{[serverKind, location, architecture].join(', ')}</div>
      </div>
    ),
  },
  Phase: {
    sortBy: ({ status }) => status.phase,
    cell: (server) => (
      <div>
        <ServerStatus phase={server.status.phase} />
        <ServerProgress server={server} />
      </div>
    ),
  },
  'Used by': {
    isLong: true,
    sortBy: ({ status }) => status.claimedBy?.cluster ?? '',
    cell: ({ status: { claimedBy } }) =>
      claimedBy === null ? (
        <span className="faint">no node pool</span>
      ) : (
        <Link to="/teams/$team/clusters/$name" params={{ team, name: claimedBy.cluster }}>
          {claimedBy.cluster}, {claimedBy.nodePool}
        </Link>
      ),
  },
});

interface ServerActionsProps {
  readonly connection: Connection;
  readonly server: AdoptedServer;
  readonly onJoin: () => void;
}

function ServerActions({ connection, server, onJoin }: ServerActionsProps) {
  const { metadata, spec, status } = server;
  if (status.phase === 'Deregistering') return null;
  const isAwaited = status.claimedBy !== null && (status.phase === 'Adopting' || status.phase === 'Joining');
  const mayJoin = joinsByCommand(spec.serverKind) && isAwaited;
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      {mayJoin && (
        <Button size="compact-xs" onClick={onJoin} aria-label={`Get the join command of ${metadata.name}`}>
          Join command
        </Button>
      )}
      {status.phase === 'Failed' && status.claimedBy === null && (
        <Link
          to="/teams/$team/connections/$ref/servers/+"
          params={{ team: metadata.team, ref: metadata.connectionRef }}
          search={{ number: String(metadata.serverID) }}
        >
          Adopt {metadata.name} again
        </Link>
      )}
      <Deregister connection={connection} server={server} />
    </Group>
  );
}

function Deregister({ connection, server }: Omit<ServerActionsProps, 'onJoin'>) {
  const cache = useQueryClient();
  const { name, team, connectionRef: ref, serverID } = server.metadata;
  const path = { team, ref, server_id: serverID };
  const deregister = async () => {
    await corral.deregisterServer(path);
    announce(`Deregistering ${name}`);
    await cache.invalidateQueries({ queryKey: serversQuery(team, ref).queryKey });
  };
  return (
    <DangerAction
      label="Deregister"
      target={name}
      button={{ variant: 'default', size: 'compact-xs' }}
      action="Deregister server"
      onConfirm={deregister}
    >
      <p>
        The server is detached: node pools can no longer use it. It is neither deleted nor powered off, keeps its
        system, and is still paid for.
        {connection.status.phase === 'Rejected' && ' The token is rejected, so its label at the provider stays.'}
      </p>
      <Lost path={path} />
    </DangerAction>
  );
}

/** The record sets that lead to the server, by a plan of its deregistration. */
function Lost({ path }: { readonly path: Parameters<typeof corral.deregisterServer>[0] }) {
  const plan = useQuery(
    ofTeam(path.team, ['deregistration', path.server_id], (signal) =>
      bodyOf(corral.deregisterServer(path, { query: { dryRun: true }, signal })),
    ),
  );
  return <RecordSetsLost recordSets={plan.data?.recordSets ?? []} />;
}

/** Whether the operation on the server says more than its phase: the adoption of a machine lasts until it has joined. */
const hasOperation = ({ spec, status: { phase } }: AdoptedServer): boolean =>
  ['Adopting', 'Rebuilding', 'Deregistering', 'Failed'].includes(phase) ||
  (phase === 'Joining' && joinsByCommand(spec.serverKind));

/** How far the change of a server is, what it waits for, or why it failed and what to do. */
function ServerProgress({ server }: { readonly server: AdoptedServer }) {
  const { slug: team } = useTeam();
  const { message, operationId } = server.status;
  const isTold = operationId !== null && hasOperation(server);
  const query = useQuery({ ...operationQuery(team, operationId ?? ''), enabled: isTold });
  const operation = isTold ? query.data : undefined;
  const story = (operation && storyOf(operation)) ?? message;
  return (
    <>
      {operation !== undefined && isOpenOperation(operation) && (
        <Meter percent={operation.progress} label={`Progress of ${server.metadata.name}`} />
      )}
      {story !== '' && <div className="muted">{story}</div>}
      {isTold && (
        <Link to="/teams/$team/operations/$id" params={{ team, id: operationId }}>
          Operation of {server.metadata.name}
        </Link>
      )}
    </>
  );
}
