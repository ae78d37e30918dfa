import { type DemoBody, dnsLimits } from '@corral/contracts';
import { Button, Group, Menu } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { dnsOf } from '../api/dns-client.js';
import { demosQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { Copyable } from '../ui/copy.js';
import { DangerAction } from '../ui/danger-action.js';
import { dayOf } from '../ui/relative-time.js';
import { Failed } from '../ui/states.js';
import { LoadedTable } from '../ui/table.js';
import { Expiry, Time } from '../ui/time.js';
import { LONGEST, longerLifetimes } from './demo-lifetimes.js';

/** The live demos, and what can be done with each. */
export function DemoTable() {
  const cache = useQueryClient();
  const { slug: team, can } = useTeam();
  const demos = useQuery(demosQuery(team));
  const reload = () => cache.invalidateQueries({ queryKey: demosQuery(team).queryKey });
  const extend = useMutation({
    mutationFn: async ({ label, seconds }: { label: string; seconds: number }) =>
      (await dnsOf(team)).client.extendDemo({ label }, { body: { ttl: seconds } }),
    onSuccess: async (_answer, { label }) => {
      await reload();
      announce(`${label} has another end`);
    },
  });
  const end = async (label: string) => {
    await (await dnsOf(team)).client.deleteDemo({ label });
    announce(`${label} has ended`);
    await reload();
  };
  return (
    <>
      <LoadedTable
        query={demos}
        what="demos"
        empty="No demos yet. A demo is a name that cleans up after itself."
        caption="Demos"
        rowKey={({ label }) => label}
        initialSort="Ends"
        columns={{
          Name: { sortBy: ({ label }) => label, cell: ({ label, zone }) => <Copyable text={`${label}.${zone}`} /> },
          Records: {
            alignEnd: true,
            sortBy: ({ records }) => records,
            cell: ({ records }) => `${records} of ${dnsLimits.recordsPerDemo}`,
          },
          Created: { sortBy: ({ created_at }) => created_at, cell: ({ created_at }) => <Time at={created_at} /> },
          Ends: { sortBy: ({ expires_at }) => expires_at, cell: ({ expires_at }) => <Expiry at={expires_at} /> },
          'Latest end': {
            isLong: true,
            sortBy: ({ max_expires_at }) => max_expires_at,
            cell: ({ max_expires_at }) => <Expiry at={max_expires_at} />,
          },
          ...(can('deleteDemo') && {
            Actions: (demo: DemoBody) => (
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                <ExtendMenu demo={demo} onExtend={(seconds) => extend.mutate({ label: demo.label, seconds })} />
                <DangerAction
                  label="End"
                  target={demo.label}
                  button={{ variant: 'default', size: 'compact-xs' }}
                  title={`End ${demo.label}`}
                  confirmation={demo.label}
                  action="End demo"
                  onConfirm={() => end(demo.label)}
                >
                  <p>
                    Its token is revoked and its {demo.records} records are deleted, now. The name stays reserved for an
                    hour, since caches may still have it.
                  </p>
                </DangerAction>
              </Group>
            ),
          }),
        }}
      />
      {extend.error !== null && <Failed error={extend.error} what={`${extend.variables.label} was not extended.`} />}
    </>
  );
}

function ExtendMenu({ demo, onExtend }: { readonly demo: DemoBody; readonly onExtend: (seconds: number) => void }) {
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
          <Menu.Item key={label} onClick={() => onExtend(seconds)}>
            {label === LONGEST ? `Until ${dayOf(end)} (maximum)` : `${label} from now`}
          </Menu.Item>
        ))}
        {options.length === 0 && <Menu.Label>It ends as late as it can: 7 days after its beginning.</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}
