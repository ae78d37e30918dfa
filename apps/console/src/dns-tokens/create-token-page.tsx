import { isCorralError } from '@corral/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bodyOf, corral } from '../api/corral.js';
import { dnsUsageQuery, dnsZoneQuery, teamKey } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { useApiForm } from '../ui/api-form.js';
import { Columns, Panel } from '../ui/columns.js';
import { Page } from '../ui/page.js';
import { Empty, Loaded } from '../ui/states.js';
import { CoverageCheck } from './coverage-check.js';
import { CreatedToken } from './created-token.js';
import { coverageOf, coverageText, emptyDraft, problemsOf, tokenWish } from './token-draft.js';
import { TokenForm } from './token-form.js';

export function CreateTokenPage() {
  const { slug: team } = useTeam();
  const place = useQuery(dnsZoneQuery(team));
  if (place.data !== undefined) return <CreateToken place={place.data} />;
  return (
    <Page>
      {isCorralError(place.error) && place.error.status === 404 ? (
        <Empty>This installation does not say where its DNS API is. Its operators have to set DNS_API_URL.</Empty>
      ) : (
        <Loaded query={place} what="the zone">
          {() => null}
        </Loaded>
      )}
    </Page>
  );
}

interface Place {
  readonly endpoint: string;
  readonly zone: string;
}

function CreateToken({ place }: { readonly place: Place }) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const usage = useQuery(dnsUsageQuery(team));
  const placed = { team, zone: place.zone };
  const form = useApiForm({
    initial: emptyDraft,
    draft: `dns-token.${team}`,
    aliases: { withinTypes: 'types', expiresAt: 'lifetime' },
    check: (draft) => problemsOf(draft, { ...placed, now: Date.now() }),
    send: (draft, idempotencyKey) => {
      const body = tokenWish(draft, { ...placed, now: Date.now() });
      return bodyOf(corral.createDnsToken({ team }, { body, idempotencyKey }));
    },
    onSaved: () => {
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'dns-tokens'] });
      void cache.invalidateQueries({ queryKey: [...teamKey(team), 'dns-usage'] });
    },
  });
  if (form.saved !== undefined) return <CreatedToken place={place} created={form.saved} />;

  const coverage = coverageOf(form.fields.values, placed);
  const tokens = usage.data?.tokens;
  return (
    <Page>
      <p className="muted">
        A token lets a tool write records of {team}. Give it only what it needs; for your own work here you need none.
      </p>
      {tokens !== undefined && tokens.active >= tokens.limit && (
        <Empty
          action={
            <Link to="/teams/$team/dns/tokens" params={{ team }}>
              Choose one to revoke
            </Link>
          }
        >
          {tokens.active} of {tokens.limit} active tokens are in use. Revoke one before you create another.
        </Empty>
      )}
      <Columns
        aside={
          <Panel>
            <div aria-live="polite">
              <h2>This token would cover</h2>
              <p>{coverageText(coverage)}</p>
            </div>
            <CoverageCheck coverage={coverage} zone={place.zone} />
          </Panel>
        }
      >
        <TokenForm zone={place.zone} form={form} />
      </Columns>
    </Page>
  );
}
