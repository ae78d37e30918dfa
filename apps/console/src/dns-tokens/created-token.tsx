import type { DnsTokenBody } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTeam } from '../shell/use-team.js';
import { Columns } from '../ui/columns.js';
import { Page, Section } from '../ui/page.js';
import { ShownOnce } from '../ui/shown-once.js';
import { Empty } from '../ui/states.js';
import { Expiry } from '../ui/time.js';
import { ClientConfigTabs } from './client-config-tabs.js';
import { CoverageCheck } from './coverage-check.js';
import { coverageText } from './token-draft.js';

export interface CreatedTokenProps {
  readonly place: { readonly endpoint: string; readonly zone: string };
  /** `token` is null when the answer with it was lost. */
  readonly created: DnsTokenBody & { readonly token: string | null };
}

/** A new token with the configuration of the tools that it is for. */
export function CreatedToken({ place, created }: CreatedTokenProps) {
  const { slug: team } = useTeam();
  const navigate = useNavigate();
  const { id, name, token, expiresAt, withinName, withinTypes } = created;
  const coverage = { ownerLabel: team, withinName, withinTypes };
  const openToken = () => void navigate({ to: '/teams/$team/dns/tokens/$id', params: { team, id } });
  if (token === null) {
    return (
      <Page title={`Token ${name}`}>
        <Empty action={<Button onClick={openToken}>Open the token</Button>}>
          The token was created, but its answer was lost on the way. This token cannot be shown again. Revoke it and
          create another.
        </Empty>
      </Page>
    );
  }
  return (
    <Page title={`Token ${name} created`}>
      <p>
        Covers {coverageText(coverage)}. Ends: <Expiry at={expiresAt} />.
      </p>
      <Section title="Token">
        <ShownOnce
          secret={token}
          what="the token"
          remedy="If it is lost, revoke it and create another."
          onStored={openToken}
        />
      </Section>
      <Columns aside={<CoverageCheck coverage={coverage} zone={place.zone} />}>
        <Section title="Ready configuration">
          <ClientConfigTabs use={{ ...place, coverage, token }} />
        </Section>
      </Columns>
    </Page>
  );
}
