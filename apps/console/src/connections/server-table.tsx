import { type AdoptedServer, type Connection, joinsByCommand } from '@corral/contracts';
import { Button, Group } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { corral } from '../api/corral.js';
import { teamKey } from '../api/queries.js';
import { type TeamContext, useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Copyable } from '../ui/copy.js';
import { DangerDialog } from '../ui/danger-dialog.js';
import { RecordSetsLost } from '../ui/record-sets-lost.js';
import { ServerStatus } from '../ui/status.js';
import { type Column, Table } from '../ui/table.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { JoinCommandDialog } from './join-command-dialog.js';
import { ServerProgress } from './server-progress.js';

interface ServerTableProps {
  readonly team: string;
  readonly connection: Connection;
  readonly servers: readonly AdoptedServer[];
}

export function ServerTable({ team, connection, servers }: ServerTableProps) {
  const { can } = useTeam();
  const cache = useQueryClient();
  const [leaving, setLeaving] = useState<AdoptedServer | null>(null);
  const [joining, setJoining] = useState<AdoptedServer | null>(null);
  const { ref } = connection.metadata;
  useFocusKept('[data-shortcut="n"]', servers.length);
  const deregister = useMutation({
    mutationFn: ({ metadata: { serverID } }: AdoptedServer) =>
      corral.deregisterServer({
        team,
        ref,
        server_id: serverID,
      }),
    onSuccess: async (_answer, { metadata: { name } }) => {
      setLeaving(null);
      announce(`Deregistering ${name}`);
      await cache.invalidateQueries({ queryKey: [...teamKey(team), 'servers', ref] });
    },
  });
  const plan = useQuery({
    queryKey: [...teamKey(team), 'deregistration', leaving?.metadata.serverID ?? null],
    queryFn: async ({ signal }) => {
      const path = { team, ref, server_id: leaving?.metadata.serverID ?? 0 };
      const answer = await corral.deregisterServer(path, { query: { dryRun: true }, signal });
      if (answer.status !== 200) throw new Error('A dry run is answered 200');
      return answer.body;
    },
    enabled: leaving !== null,
  });
  const columns = useMemo(() => columnsOf({ team, can, onLeave: setLeaving, onJoin: setJoining }), [team, can]);
  const name = leaving?.metadata.name ?? '';
  return (
    <>
      <Table
        caption="Adopted servers"
        columns={columns}
        rows={servers}
        rowKey={({ metadata }) => metadata.id}
        initialSort="name"
      />
      <DangerDialog
        opened={leaving !== null}
        onClose={() => {
          setLeaving(null);
          deregister.reset();
        }}
        title={`Deregister ${name}`}
        confirmation={name}
        action="Deregister server"
        onConfirm={() => leaving !== null && deregister.mutate(leaving)}
        isPending={deregister.isPending}
        error={deregister.error}
      >
        <p>
          The server is detached: node pools can no longer use it. It is neither deleted nor powered off, keeps its
          system, and is still paid for.
          {connection.status.phase === 'Rejected' && ' The token is rejected, so its label at the provider stays.'}
        </p>
        <RecordSetsLost recordSets={plan.data?.recordSets ?? []} />
      </DangerDialog>
      {joining !== null && (
        <JoinCommandDialog team={team} connectionRef={ref} server={joining} onClose={() => setJoining(null)} />
      )}
    </>
  );
}

interface ColumnOptions {
  readonly team: string;
  readonly can: TeamContext['can'];
  readonly onLeave: (server: AdoptedServer) => void;
  readonly onJoin: (server: AdoptedServer) => void;
}

function columnsOf({ team, can, onLeave, onJoin }: ColumnOptions): readonly Column<AdoptedServer>[] {
  return [
    {
      id: 'name',
      label: 'Server',
      isLong: true,
      sortBy: ({ metadata }) => metadata.name,
      cell: ({ metadata: { name, serverID } }) => (
        <div>
          <Copyable text={name} />
          {name !== String(serverID) && <div className="faint numeric">{serverID}</div>}
        </div>
      ),
    },
    {
      id: 'type',
      label: 'Type',
      sortBy: ({ spec }) => spec.serverType,
      cell: ({ spec: { serverType, location, architecture, serverKind } }) => (
        <div>
          <span className="mono">{serverType}</span>
          <div className="faint">{[serverKind, location, architecture].join(', ')}</div>
        </div>
      ),
    },
    {
      id: 'phase',
      label: 'Phase',
      sortBy: ({ status }) => status.phase,
      cell: (server) => (
        <div>
          <ServerStatus phase={server.status.phase} />
          <ServerProgress team={team} server={server} />
        </div>
      ),
    },
    {
      id: 'used',
      label: 'Used by',
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
    ...(can('deregisterServer')
      ? [
          {
            id: 'actions',
            label: 'Actions',
            cell: (server: AdoptedServer) => (
              <ServerActions server={server} onLeave={() => onLeave(server)} onJoin={() => onJoin(server)} />
            ),
          },
        ]
      : []),
  ];
}

interface ServerActionsProps {
  readonly server: AdoptedServer;
  readonly onLeave: () => void;
  readonly onJoin: () => void;
}

function ServerActions({ server: { metadata, spec, status }, onLeave, onJoin }: ServerActionsProps) {
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
      <Button size="compact-xs" color="bad" onClick={onLeave} aria-label={`Deregister ${metadata.name}`}>
        Deregister
      </Button>
    </Group>
  );
}
