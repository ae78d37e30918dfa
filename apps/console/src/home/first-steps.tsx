import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { dnsZoneQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Snippet } from '../ui/copy.js';
import { Section } from '../ui/page.js';
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
