import type { Cluster, ClusterSpec } from '@corral/contracts';
import { ActionIcon, Button, Group, Menu, NumberInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Ellipsis } from 'lucide-react';
import { type KeyboardEvent, useState } from 'react';
import { catalogueQuery } from '../api/queries.js';
import { sourceNames } from '../api/words.js';
import { typeText } from '../cluster-form/spec-choices.js';
import { useTeam } from '../shell/use-team.js';
import { moneyRange } from '../ui/money.js';
import { Section } from '../ui/page.js';
import { Empty } from '../ui/states.js';
import { Status } from '../ui/status.js';
import { Table } from '../ui/table.js';
import styles from './clusters.module.css';
import { PlannedChangeDialog } from './planned-change-dialog.js';
import { PoolDialog } from './pool-dialog.js';
import { waitingPoolsOf } from './summary.js';

type Pool = Cluster['spec']['nodePools'][number];

interface PoolsProps {
  readonly cluster: Cluster;
}

/** The node pools, changed in their place. Each change is planned before it is made. */
export function Pools({ cluster }: PoolsProps) {
  const { slug: team, can } = useTeam();
  const isChangeable = can('putCluster');
  const { spec, status } = cluster;
  const [changing, setChanging] = useState<{ readonly pool: string | null } | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const catalogue = useQuery(catalogueQuery(team, spec.connectionRef)).data;
  const waiting = waitingPoolsOf(cluster);
  return (
    <Section
      title="Node pools"
      actions={isChangeable && <Button onClick={() => setChanging({ pool: null })}>Add pool</Button>}
    >
      {spec.nodePools.length === 0 ? (
        <Empty>No pools.</Empty>
      ) : (
        <Table
          caption="Node pools"
          rows={spec.nodePools}
          rowKey={({ name }) => name}
          columns={{
            Pool: ({ name }) => <span className="mono">{name}</span>,
            Machines: {
              isLong: true,
              cell: ({ machineType, source }) =>
                source === 'managed' ? typeText(catalogue, machineType) : `${machineType}, ${sourceNames[source]}`,
            },
            Ready: ({ name }) => {
              const nodes = status.nodePools.find((pool) => pool.name === name)?.nodes ?? null;
              const waits = waiting.some(({ pool }) => pool === name);
              if (waits) return <Status tone="warning">{`${nodes?.ready ?? 0} ready, waits`}</Status>;
              return nodes === null ? 'not known' : `${nodes.ready} of ${nodes.total}`;
            },
            'Nodes, from – to': (pool) =>
              isChangeable ? <Scale cluster={cluster} pool={pool} /> : `${pool.minimum}–${pool.maximum}`,
            'Per month, net': {
              alignEnd: true,
              cell: ({ name, source }) => {
                const item = status.cost.items.find((each) => each.name === name);
                const price = item === undefined ? '–' : moneyRange(item.monthly, status.cost.currency);
                return source === 'managed' || item?.monthly.minimum ? price : 'your own';
              },
            },
            Actions: ({ name }) =>
              isChangeable && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon variant="default" aria-label={`Actions of ${name}`}>
                      <Ellipsis size={14} aria-hidden />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item onClick={() => setChanging({ pool: name })}>Change…</Menu.Item>
                    <Menu.Item onClick={() => setRemoving(name)}>Remove…</Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              ),
          }}
        />
      )}
      {changing !== null && <PoolDialog cluster={cluster} {...changing} onClose={() => setChanging(null)} />}
      {removing !== null && (
        <PlannedChangeDialog
          cluster={cluster}
          spec={withPools(cluster, (pools) => pools.filter(({ name }) => name !== removing))}
          action={`Remove ${removing} from ${cluster.metadata.name}`}
          onClose={() => setRemoving(null)}
        />
      )}
    </Section>
  );
}

const withPools = ({ spec }: Cluster, change: (pools: readonly Pool[]) => readonly Pool[]): ClusterSpec =>
  ({ ...spec, nodePools: change(spec.nodePools) }) as ClusterSpec;

interface ScaleProps extends PoolsProps {
  readonly pool: Pool;
}

function Scale({ cluster, pool }: ScaleProps) {
  const [typed, setTyped] = useState<{ readonly minimum: number; readonly maximum: number } | null>(null);
  const { minimum, maximum } = typed ?? pool;
  const [isOpen, setOpen] = useState(false);
  const isChanged = minimum !== pool.minimum || maximum !== pool.maximum;
  const openByEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !isChanged) return;
    event.preventDefault();
    setOpen(true);
  };
  const field = (label: string, value: number, set: (value: number) => void) => (
    <NumberInput
      aria-label={`${label} of ${pool.name}`}
      w="4.5rem"
      min={0}
      allowDecimal={false}
      value={value}
      onChange={(next) => set(Number(next))}
      onKeyDown={openByEnter}
    />
  );
  return (
    <Group gap="xs" wrap="nowrap">
      {field('Minimum', minimum, (next) => setTyped({ minimum: next, maximum }))}–
      {field('Maximum', maximum, (next) => setTyped({ minimum, maximum: next }))}
      {/* Its place is kept, so that nothing moves while one types. */}
      <Button
        className={isChanged ? '' : (styles.hidden ?? '')}
        onClick={() => setOpen(true)}
        aria-label={`Review ${pool.name}`}
      >
        Review
      </Button>
      {isOpen && (
        <PlannedChangeDialog
          cluster={cluster}
          spec={withPools(cluster, (pools) =>
            pools.map((each) => (each.name === pool.name ? { ...each, minimum, maximum } : each)),
          )}
          action={`Scale ${pool.name} of ${cluster.metadata.name}`}
          onClose={() => setOpen(false)}
          onApplied={() => setTyped(null)}
        />
      )}
    </Group>
  );
}
