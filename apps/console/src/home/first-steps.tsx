import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { dnsZoneQuery, usageQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Snippet } from '../ui/copy.js';
import { moneyRange } from '../ui/money.js';
import { Section } from '../ui/page.js';
import { dayOf } from '../ui/relative-time.js';
import { earlierCost } from './earlier-cost.js';
import styles from './home.module.css';

/** The way of an empty team to its first record and its first cluster. */
export function FirstSteps({ hasConnection }: { readonly hasConnection: boolean }) {
  const { slug: team } = useTeam();
  const { data: dns } = useQuery(dnsZoneQuery(team));
  return (
    <Section title="First steps">
      <ol className={styles.steps}>
        <li>
          <Link to="/teams/$team/dns/records" params={{ team }}>
            Add a record set
          </Link>{' '}
          here, or{' '}
          <Link to="/teams/$team/dns/tokens/+" params={{ team }}>
            create a DNS token
          </Link>{' '}
          for your tools. With the token in <code>HCLOUD_TOKEN</code>:
          {dns !== undefined && <Snippet label="the first record set" text={firstRecord(team, dns)} />}
        </li>
        <li>
          {hasConnection ? (
            'A cloud project is connected.'
          ) : (
            <>
              <Link to="/teams/$team/connections/+" params={{ team }}>
                Connect a cloud project
              </Link>
              , in which your clusters get their nodes.
            </>
          )}
        </li>
        <li>
          <Link to="/teams/$team/clusters/+" params={{ team }}>
            Create a cluster
          </Link>
          . You see what it does and costs before it begins.
        </li>
        <li>
          <Link to="/teams/$team/access" params={{ team }}>
            Invite your team
          </Link>
          .
        </li>
      </ol>
    </Section>
  );
}

const firstRecord = (team: string, { endpoint, zone }: { endpoint: string; zone: string }): string =>
  [
    `curl -sS -H "Authorization: Bearer $HCLOUD_TOKEN" -H 'Content-Type: application/json' \\`,
    `  ${endpoint}/zones/${zone}/rrsets \\`,
    `  -d '{"name":"hello.${team}","type":"A","ttl":300,"records":[{"value":"192.0.2.1"}]}'`,
  ].join('\n');

const DAYS = 30;
const DAY_MS = 86_400_000;

/** What the clusters cost up to a month ago. Nothing without a record, as the page is complete without it. */
export function CostTrend() {
  const { slug: team } = useTeam();
  const usage = useQuery(
    usageQuery(team, 'cost trend', () => ({ step: 'day', from: new Date(Date.now() - DAYS * DAY_MS).toISOString() })),
  );
  const earlier = earlierCost(usage.data?.points ?? []);
  if (earlier === null) return null;
  return (
    <div className="muted">
      <span className="numeric">
        {dayOf(Date.parse(earlier.from))}: {moneyRange(earlier.cost, earlier.cost.currency)}.
      </span>{' '}
      <Link to="/teams/$team/usage" params={{ team }} search={{ range: '30d' }}>
        Cost over time
      </Link>
    </div>
  );
}
