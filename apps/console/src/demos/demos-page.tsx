import { isCorralError } from '@corral/client';
import { dnsLimits } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { demosQuery, dnsZoneQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { Empty } from '../ui/states.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { CreateDemo } from './create-demo.js';
import { CreatedDemo, type NewDemo } from './created-demo.js';
import { DemoTable } from './demo-table.js';

/** Short-lived names with a token each, for workshops and previews. */
export function DemosPage() {
  const { slug: team, can } = useTeam();
  const demos = useQuery(demosQuery(team));
  const place = useQuery(dnsZoneQuery(team));
  const [created, setCreated] = useState<NewDemo | null>(null);
  const [isCreating, setCreating] = useState(false);
  useFocusKept('[data-shortcut="n"]', `${isCreating} ${created?.demo.label} ${demos.data?.length}`);
  if (isCorralError(demos.error) && demos.error.status === 404 && demos.data === undefined) {
    return (
      <Page>
        <Empty>This installation has no demos. Its operators can switch them on.</Empty>
      </Page>
    );
  }
  return (
    <Page
      actions={
        can('createDemo') &&
        created === null &&
        !isCreating && (
          <Button variant="filled" data-shortcut="n" onClick={() => setCreating(true)}>
            Create demo
          </Button>
        )
      }
    >
      <p className="muted">
        A demo is a name of its own for some hours, with a token that can write nothing else. Its records are deleted
        when it ends. {demos.data && `${demos.data.length} of ${dnsLimits.demosPerTeam} demos run.`}
      </p>
      {isCreating && (
        <CreateDemo
          onCancel={() => setCreating(false)}
          onCreated={(demo) => {
            setCreated(demo);
            setCreating(false);
          }}
        />
      )}
      {created !== null && (
        <CreatedDemo created={created} endpoint={place.data?.endpoint ?? null} onStored={() => setCreated(null)} />
      )}
      <DemoTable />
    </Page>
  );
}
