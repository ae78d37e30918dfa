import type { DnsTokenBody } from '@corral/contracts';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useBlocker, useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { Columns } from '../ui/columns.js';
import { Snippet } from '../ui/copy.js';
import { Page, Section } from '../ui/page.js';
import { Empty } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { ClientConfigTabs } from './client-config-tabs.js';
import { CoverageCheck } from './coverage-check.js';
import { coverageText } from './token-draft.js';

export interface CreatedTokenProps {
  readonly team: string;
  readonly place: { readonly endpoint: string; readonly zone: string };
  /** `token` is null when the answer with it was lost. */
  readonly created: DnsTokenBody & { readonly token: string | null };
}

/** The only time that a token is shown. It lives in the state of this page: a reload loses it, so leaving asks once. */
export function CreatedToken({ team, place, created }: CreatedTokenProps) {
  const navigate = useNavigate();
  const { id, name, token, expiresAt, withinName, withinTypes } = created;
  const mayLeave = useRef(token === null);
  const blocker = useBlocker({
    shouldBlockFn: () => !mayLeave.current,
    enableBeforeUnload: () => !mayLeave.current,
    withResolver: true,
  });
  const coverage = { ownerLabel: team, withinName, withinTypes };
  const leave = () => {
    mayLeave.current = true;
    void navigate({ to: `/teams/${team}/dns/tokens/${id}` });
  };
  const crumbs = [
    { label: team, to: `/teams/${team}` },
    { label: 'DNS tokens', to: `/teams/${team}/dns/tokens` },
  ];
  if (token === null) {
    return (
      <Page title={`Token ${name}`} crumbs={crumbs}>
        <Empty action={<Button onClick={leave}>Open the token</Button>}>
          The token was created, but its answer was lost on the way. This token cannot be shown again. Revoke it and
          create another.
        </Empty>
      </Page>
    );
  }
  return (
    <Page title={`Token ${name} created`} crumbs={crumbs}>
      <p>
        Covers {coverageText(coverage)}. Ends: <Expiry at={expiresAt} />.
      </p>
      <Section title="The token">
        <p>
          <strong>Shown only now.</strong> Corral keeps no copy. Store it where your tool reads it.
        </p>
        <Snippet text={token} label="the token" />
        <Group>
          <Button variant="filled" onClick={leave}>
            I have stored it
          </Button>
        </Group>
      </Section>
      <Columns aside={<CoverageCheck coverage={coverage} zone={place.zone} />}>
        <Section title="Ready configuration">
          <ClientConfigTabs use={{ ...place, coverage, token }} />
        </Section>
      </Columns>
      <Modal opened={blocker.status === 'blocked'} onClose={() => blocker.reset?.()} title="Leave without the token?">
        <Stack>
          <p>It cannot be shown again. If it is lost, revoke it and create another.</p>
          <Group justify="flex-end">
            <Button data-autofocus onClick={() => blocker.reset?.()}>
              Stay
            </Button>
            <Button
              variant="filled"
              color="bad"
              onClick={() => {
                mayLeave.current = true;
                blocker.proceed?.();
              }}
            >
              Leave
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Page>
  );
}
