import { isCorralError } from '@corral/client';
import type { Cluster, HostedNameBody } from '@corral/contracts';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf, corral, itemsOf } from '../api/corral.js';
import { ofTeam } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { DangerAction } from '../ui/danger.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { LoadedTable, Table } from '../ui/table.js';
import { useReturnFocus } from '../ui/use-return-focus.js';

const namesQuery = (team: string, cluster: string) =>
  ofTeam(team, ['names', cluster], (signal) => itemsOf(corral.listHostedNames({ team, cluster }, { signal })), {
    // No event announces a change of a name.
    staleTime: 5_000,
    refetchInterval: ({ state }) => (state.data?.some(isMoving) ? 5_000 : 60_000),
    retry: false,
  });

const isMoving = ({ state }: HostedNameBody): boolean => state !== 'Ready';

/** The names with records and certificates from the cluster. Nothing where the installation does not offer them. */
export function Names({ cluster }: { readonly cluster: Cluster }) {
  const { slug: team, can } = useTeam();
  const { name } = cluster.metadata;
  const names = useQuery(namesQuery(team, name));
  const [isAdding, setAdding] = useState(false);
  if (isCorralError(names.error) && names.error.status === 404) return null;
  return (
    <Section title="Names" actions={can('addHostedName') && <Button onClick={() => setAdding(true)}>Add name</Button>}>
      <LoadedTable
        query={names}
        what="the names"
        empty="No names. With one, Ingresses get their records and certificates."
        caption="Names"
        rowKey={(hosted) => hosted.name}
        columns={{
          Name: { isLong: true, cell: ({ host }) => <span className="mono">{host}</span> },
          State: ({ state }) => <Status tone={state === 'Ready' ? 'good' : 'running'}>{state}</Status>,
          'Waits for': { isLong: true, cell: ({ message }) => message },
          Actions: (hosted) => can('removeHostedName') && hosted.state !== 'Removing' && <RemoveName hosted={hosted} />,
        }}
      />
      {isAdding && <AddName cluster={name} onClose={() => setAdding(false)} />}
    </Section>
  );
}

function RemoveName({ hosted: { name, cluster } }: { readonly hosted: HostedNameBody }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const remove = async () => {
    await corral.removeHostedName({ team, cluster, host: name });
    await cache.invalidateQueries({ queryKey: namesQuery(team, cluster).queryKey });
  };
  return (
    <DangerAction
      label="Remove"
      target={name}
      title={`Remove ${name} from ${cluster}`}
      action="Remove name"
      onConfirm={remove}
    >
      <p>
        Its DNS token ends now, and Corral takes its objects out of the cluster: no more changes of its records, and no
        new certificates. Records and certificates that exist stay.
      </p>
    </DangerAction>
  );
}

/** Asks for a name, shows what would be installed, and adds it. */
function AddName({ cluster, onClose }: { cluster: string; onClose: () => void }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const [typed, setTyped] = useState('');
  const name = typed.trim().toLowerCase();
  useReturnFocus();
  const plan = useMutation({
    mutationFn: () => bodyOf(corral.addHostedName({ team, cluster }, { body: { name }, query: { dryRun: true } })),
  });
  const add = useMutation({
    mutationFn: () => corral.addHostedName({ team, cluster }, { body: { name } }),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: namesQuery(team, cluster).queryKey });
      onClose();
    },
  });
  const planned = plan.data?.resource;
  const isPlanned = planned?.name === name;
  const error = add.error ?? plan.error;
  return (
    <Modal opened onClose={onClose} title={`Add a name to ${cluster}`} size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isPlanned) add.mutate();
          else plan.mutate();
        }}
      >
        <Stack gap="md">
          <TextInput
            data-autofocus
            label="Name"
            description="Relative to the zone. Names below it are part of it."
            placeholder={`shop.${team}`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
          {isPlanned && (
            <>
              <p>Corral keeps these objects in the cluster, with a DNS token for {planned.host} and names below it:</p>
              <Objects objects={planned.objects} />
            </>
          )}
          {error !== null && <Failed error={error} />}
          <Group justify="flex-end">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="filled" loading={plan.isPending || add.isPending}>
              {isPlanned ? 'Add name' : 'Show what is installed'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

const Objects = ({ objects }: { readonly objects: HostedNameBody['objects'] }) => (
  <Table
    caption="Objects in the cluster"
    rows={objects}
    rowKey={({ kind, namespace, name }) => `${kind} ${namespace}/${name}`}
    columns={{
      Kind: ({ kind }) => kind,
      Namespace: ({ namespace }) => namespace ?? '',
      Name: { isLong: true, cell: ({ name }) => <span className="mono">{name}</span> },
      Images: { isLong: true, cell: ({ images }) => images.join(' ') },
    }}
  />
);
