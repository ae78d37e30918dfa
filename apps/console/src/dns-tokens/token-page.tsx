import type { DnsTokenBody } from '@corral/contracts';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { corral } from '../api/corral.js';
import { dnsTokensQuery, dnsUsageQuery, dnsZoneQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Columns } from '../ui/columns.js';
import { Copyable } from '../ui/copy.js';
import { DangerAction } from '../ui/danger.js';
import { Facts } from '../ui/facts.js';
import { Page, Section } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { Expiry, Time } from '../ui/time.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { ClientConfigTabs } from './client-config-tabs.js';
import { CoverageCheck } from './coverage-check.js';
import { coverageText } from './token-draft.js';
import { TokenStatus } from './token-status.js';

export function TokenPage() {
  const { team, id } = useParams({ from: '/signed-in/teams/$team/dns/tokens/$id' });
  const tokens = useQuery(dnsTokensQuery(team));
  const token = tokens.data?.find((each) => each.id === id);
  const { can } = useTeam();
  useFocusKept('h1', token?.state);
  return (
    <Page
      title={token?.name}
      aside={token && <TokenStatus token={token} />}
      actions={token?.state === 'active' && can('revokeDnsToken') && <RevokeToken token={token} />}
    >
      <Loaded query={tokens} what="the token">
        {() =>
          token === undefined ? (
            <Empty>Not found, or created by someone else. Administrators see all tokens of the team.</Empty>
          ) : (
            <>
              <TokenFacts token={token} />
              {token.state === 'active' && <TokenUseParts token={token} />}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

interface Props {
  readonly token: DnsTokenBody;
}

function TokenFacts({ token }: Props) {
  const { slug: team } = useTeam();
  const { id, createdAt, createdBy, expiresAt, lastUsedAt, revokedAt } = token;
  return (
    <Facts
      facts={[
        { label: 'Covers', value: <span className="mono">{coverageText({ ownerLabel: team, ...token })}</span> },
        { label: 'Last used', value: lastUsedAt === null ? 'never' : <Time at={lastUsedAt} /> },
        revokedAt === null
          ? { label: 'Ends', value: <Expiry at={expiresAt} /> }
          : { label: 'Revoked', value: <Time at={revokedAt} /> },
        { label: 'Created', value: <Time at={createdAt} /> },
        { label: 'Created by', value: createdBy?.email ?? 'an operator, or handed over to the team' },
        { label: 'Id', value: <Copyable text={id} /> },
      ]}
    />
  );
}

/** What the token can do, and how clients use it. The token itself is known to its owner only. */
function TokenUseParts({ token: { withinName, withinTypes } }: Props) {
  const { slug: team } = useTeam();
  const place = useQuery(dnsZoneQuery(team));
  const coverage = { ownerLabel: team, withinName, withinTypes };
  return (
    <Loaded query={place} what="the zone">
      {({ endpoint, zone }) => (
        <Columns aside={<CoverageCheck coverage={coverage} zone={zone} />}>
          <Section title="Configuration of clients">
            <p className="muted">
              With YOUR_TOKEN in place of the token, which was shown once. If it is lost, revoke it and create another.
            </p>
            <ClientConfigTabs use={{ endpoint, zone, coverage, token: 'YOUR_TOKEN' }} />
          </Section>
        </Columns>
      )}
    </Loaded>
  );
}

function RevokeToken({ token: { id, name, lastUsedAt } }: Props) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const revoke = async () => {
    await corral.revokeDnsToken({ team, id });
    await cache.invalidateQueries({ queryKey: dnsTokensQuery(team).queryKey });
    void cache.invalidateQueries({ queryKey: dnsUsageQuery(team).queryKey });
  };
  return (
    <DangerAction
      label="Revoke token"
      title={`Revoke ${name}`}
      confirmation={name}
      action="Revoke token"
      onConfirm={revoke}
    >
      <p>
        Every gateway refuses the token within 2 s. Tools that use it fail until they have another one. This cannot be
        undone. Records stay as they are.
      </p>
      <p>Last used: {lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />}.</p>
    </DangerAction>
  );
}
