import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Button, Group, NumberInput } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { Empty } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';

type Pool = Cluster['spec']['nodePools'][number];

/** The node pools, scaled in their place. */
export function PoolsTab({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const { spec, status } = cluster;
  if (spec.nodePools.length === 0) return <Empty>No pools. Add one with Change.</Empty>;
  return (
    <Table
      caption="Node pools"
      rows={spec.nodePools}
      rowKey={({ name }) => name}
      columns={[
        { id: 'name', label: 'Pool', cell: ({ name }) => <span className="mono">{name}</span> },
        { id: 'source', label: 'Source', cell: ({ source }) => source },
        { id: 'type', label: 'Machine type', cell: ({ machineType }) => <span className="mono">{machineType}</span> },
        {
          id: 'ready',
          label: 'Ready',
          alignEnd: true,
          cell: ({ name }) => {
            const nodes = status.nodePools.find((pool) => pool.name === name)?.nodes ?? null;
            return nodes === null ? 'not known' : `${nodes.ready} of ${nodes.total}`;
          },
        },
        {
          id: 'scale',
          label: 'Minimum, maximum',
          cell: (pool) => <Scale team={team} cluster={cluster} pool={pool} key={`${pool.minimum} ${pool.maximum}`} />,
        },
      ]}
    />
  );
}

interface ScaleProps {
  readonly team: string;
  readonly cluster: Cluster;
  readonly pool: Pool;
}

function Scale({ team, cluster, pool }: ScaleProps) {
  const [minimum, setMinimum] = useState(pool.minimum ?? 0);
  const [maximum, setMaximum] = useState(pool.maximum ?? 0);
  const [isOpen, setOpen] = useState(false);
  const isChanged = minimum !== pool.minimum || maximum !== pool.maximum;
  const openByEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !isChanged) return;
    event.preventDefault();
    setOpen(true);
  };
  const nodePools = cluster.spec.nodePools.map((each) =>
    each.name === pool.name ? { ...each, minimum, maximum } : each,
  );
  return (
    <Group gap="xs">
      <NumberInput
        aria-label={`Minimum of ${pool.name}`}
        w="5rem"
        min={0}
        allowDecimal={false}
        value={minimum}
        onChange={(value) => setMinimum(Number(value))}
        onKeyDown={openByEnter}
      />
      <NumberInput
        aria-label={`Maximum of ${pool.name}`}
        w="5rem"
        min={0}
        allowDecimal={false}
        value={maximum}
        onChange={(value) => setMaximum(Number(value))}
        onKeyDown={openByEnter}
      />
      {isChanged && (
        <Button onClick={() => setOpen(true)} aria-label={`Scale ${pool.name}`}>
          Scale
        </Button>
      )}
      {isOpen && (
        <PlannedChangeDialog
          team={team}
          cluster={cluster}
          spec={{ ...cluster.spec, nodePools } as ClusterSpec}
          action={`Scale ${pool.name} of ${cluster.metadata.name}`}
          onClose={() => setOpen(false)}
        />
      )}
    </Group>
  );
}
