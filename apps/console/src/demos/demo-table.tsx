import { type DemoBody, dnsLimits } from '@corral/contracts';
import { Button, Group, Menu } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { dnsOf } from '../api/dns-client.js';
import { teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Copyable } from '../ui/copy.js';
import { DangerDialog } from '../ui/danger-dialog.js';
import { dayOf } from '../ui/relative-time.js';
import { Failed } from '../ui/states.js';
import { type Column, Table } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';
import { LONGEST, longerLifetimes } from './demo-lifetimes.js';

interface DemoTableProps {
  readonly team: string;
  readonly demos: readonly DemoBody[];
}

export function DemoTable({ team, demos }: DemoTableProps) {
  const cache = useQueryClient();
  const { can } = useTeam();
  const [ending, setEnding] = useState<DemoBody | null>(null);
  const reload = () => cache.invalidateQueries({ queryKey: [...teamKey(team), 'demos'] });
  const extend = useMutation({
    mutationFn: async ({ label, seconds }: { label: string; seconds: number }) =>
      (await dnsOf(team)).client.extendDemo({ label }, { body: { ttl: seconds } }),
    onSuccess: async (_answer, { label }) => {
      await reload();
      announce(`${label} has another end`);
    },
  });
  const end = useMutation({
    mutationFn: async (label: string) => (await dnsOf(team)).client.deleteDemo({ label }),
    onSuccess: async (_answer, label) => {
      setEnding(null);
      announce(`${label} has ended`);
      await reload();
    },
  });
  const { mutate: setLifetime } = extend;
  const columns = useMemo(
    () =>
      columnsOf({ onExtend: (label, seconds) => setLifetime({ label, seconds }), onEnd: setEnding }).filter(
        ({ id }) => id !== 'actions' || can('deleteDemo'),
      ),
    [setLifetime, can],
  );
  return (
    <>
      <Table caption="Demos" columns={columns} rows={demos} rowKey={({ label }) => label} initialSort="ends" />
      {extend.error !== null && <Failed error={extend.error} what={`${extend.variables.label} was not extended.`} />}
      <DangerDialog
        opened={ending !== null}
        onClose={() => {
          setEnding(null);
          end.reset();
        }}
        title={`End ${ending?.label}`}
        confirmation={ending?.label ?? ''}
        action="End demo"
        onConfirm={() => ending !== null && end.mutate(ending.label)}
        isPending={end.isPending}
        error={end.error}
      >
        <p>
          Its token is revoked and its {ending?.records} records are deleted, now. The name stays reserved for an hour,
          since caches may still have it.
        </p>
      </DangerDialog>
    </>
  );
}

interface RowActions {
  readonly onExtend: (label: string, seconds: number) => void;
  readonly onEnd: (demo: DemoBody) => void;
}

const columnsOf = ({ onExtend, onEnd }: RowActions): readonly Column<DemoBody>[] => [
  {
    id: 'label',
    label: 'Name',
    sortBy: ({ label }) => label,
    cell: ({ label, zone }) => <Copyable text={`${label}.${zone}`} />,
  },
  {
    id: 'records',
    label: 'Records',
    alignEnd: true,
    sortBy: ({ records }) => records,
    cell: ({ records }) => `${records} of ${dnsLimits.recordsPerDemo}`,
  },
  {
    id: 'created',
    label: 'Created',
    sortBy: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: 'ends',
    label: 'Ends',
    sortBy: ({ expires_at }) => expires_at,
    cell: ({ expires_at }) => <Expiry at={expires_at} />,
  },
  {
    id: 'latest',
    label: 'Latest end',
    isLong: true,
    sortBy: ({ max_expires_at }) => max_expires_at,
    cell: ({ max_expires_at }) => <Expiry at={max_expires_at} />,
  },
  {
    id: 'actions',
    label: 'Actions',
    cell: (demo) => (
      <Group gap="xs" justify="flex-end" wrap="nowrap">
        <ExtendMenu demo={demo} onExtend={onExtend} />
        <Button size="compact-xs" color="bad" onClick={() => onEnd(demo)} aria-label={`End ${demo.label}`}>
          End
        </Button>
      </Group>
    ),
  },
];

function ExtendMenu({ demo, onExtend }: { readonly demo: DemoBody } & Pick<RowActions, 'onExtend'>) {
  const options = longerLifetimes(demo, Date.now());
  const end = Date.parse(demo.max_expires_at);
  return (
    <Menu>
      <Menu.Target>
        <Button size="compact-xs" aria-label={`Extend ${demo.label}`}>
          Extend
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {options.map(({ label, seconds }) => (
          <Menu.Item key={label} onClick={() => onExtend(demo.label, seconds)}>
            {label === LONGEST ? `Until ${dayOf(end)} (maximum)` : `${label} from now`}
          </Menu.Item>
        ))}
        {options.length === 0 && <Menu.Label>It ends as late as it can: 7 days after its beginning.</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}
