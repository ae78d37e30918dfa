import { type Cluster, isOpenOperation, type Operation } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  catalogueQuery,
  clustersQuery,
  connectionsQuery,
  danglingQuery,
  dnsTokensQuery,
  dnsUsageQuery,
  operationsQuery,
} from '../api/queries.js';
import { didOf, doing } from '../api/words.js';
import { type LastChange, LastChanges } from '../audit/last-changes.js';
import { teamPath } from '../shell/navigation.js';
import { useTeam } from '../shell/use-team.js';
import { moneyRange, pricedMonthly, sumOfRanges, unpricedText } from '../ui/money.js';
import { Page, Section } from '../ui/page.js';
import { AllLoaded, Loaded } from '../ui/states.js';
import { Meter, OperationStatus, Status } from '../ui/status.js';
import { Time, useNow } from '../ui/time.js';
import { type Attention, attentionOf } from './attention.js';
import { CostTrend, FirstSteps } from './first-steps.js';
import styles from './home.module.css';

/** What a person of the team wants to know first: what needs them, what is under way, what it costs, who changed what. */
export function HomePage() {
  const team = useTeam();
  const now = useNow();
  const { slug } = team;
  const clusters = useQuery(clustersQuery(slug));
  const connections = useQuery(connectionsQuery(slug));
  const tokens = useQuery(dnsTokensQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const dangling = useQuery(danglingQuery(slug));
  const catalogue = useQuery(catalogueQuery(slug));
  const operations = useQuery(operationsQuery(slug));
  const attention = attentionOf(
    {
      clusters: clusters.data,
      connections: connections.data,
      tokens: tokens.data,
      usage: usage.data,
      dangling: dangling.data?.items,
      limits: catalogue.data?.limits,
    },
    now,
  );
  const needed = [
    { query: clusters, what: 'clusters' },
    { query: connections, what: 'connections' },
    { query: tokens, what: 'DNS tokens' },
    { query: usage, what: 'the usage of DNS' },
    { query: dangling, what: 'dangling record sets' },
    { query: catalogue, what: 'the limits of clusters' },
  ];
  const all = [...needed, { query: operations, what: 'operations' }];
  // An outage is said once.
  if (all.every(({ query }) => query.data === undefined && query.error !== null)) {
    return (
      <Page>
        <AllLoaded queries={all}>{null}</AllLoaded>
      </Page>
    );
  }
  const isEmpty = clusters.data?.length === 0 && usage.data?.records.used === 0;
  return (
    <Page>
      {isEmpty && team.can('createRrset') && <FirstSteps hasConnection={(connections.data?.length ?? 0) > 0} />}
      <Section title={attention.length === 0 ? 'Needs attention' : `Needs attention (${attention.length})`}>
        {attention.length > 0 && <AttentionList attention={attention} />}
        <AllLoaded queries={needed}>
          {attention.length === 0 && <p className="muted">Nothing needs attention.</p>}
        </AllLoaded>
      </Section>
      <Section title="Under way">
        <Loaded query={operations} what="operations">
          {(all) => <UnderWay operations={all.filter(isOpenOperation)} />}
        </Loaded>
      </Section>
      <div className={styles.columns}>
        <Section title="Cost per month" actions={<Link to={teamPath(slug, '/clusters')}>Clusters</Link>}>
          <Loaded query={clusters} what="clusters">
            {(all) => <MonthlyCost clusters={all} />}
          </Loaded>
          <CostTrend />
        </Section>
        <Section title="Record sets" actions={<Link to={teamPath(slug, '/dns/records')}>Records</Link>}>
          <Loaded query={usage} what="the usage">
            {({ records, requests }) => (
              <div>
                <div className={`${styles.big} numeric`}>
                  {records.used} of {records.limit} records
                </div>
                <div className="muted numeric">{requests.lastHour} requests in the last hour</div>
              </div>
            )}
          </Loaded>
        </Section>
      </div>
      <LastChanges title="Last changes">{lastChanges}</LastChanges>
    </Page>
  );
}

function AttentionList({ attention }: { readonly attention: readonly Attention[] }) {
  const { slug: team, can } = useTeam();
  return (
    <ul className={styles.list}>
      {attention.map(({ id, tone, kind, subject, detail, action, operation, to }) => {
        const verb = operation === undefined || can(operation) ? action : 'Show';
        return (
          <li key={id} className={styles.item}>
            <Status tone={tone}>{kind}</Status>
            <span className="mono">{subject}</span>
            <span>{detail}</span>
            <Link to={teamPath(team, to)} aria-label={`${verb}: ${subject}`}>
              {verb}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function UnderWay({ operations }: { readonly operations: readonly Operation[] }) {
  const { slug: team } = useTeam();
  if (operations.length === 0) return <p className="muted">Nothing is under way.</p>;
  return (
    <ul className={styles.list}>
      {operations.map(({ id, kind, target, state, progress, waiting, createdAt }) => (
        <li key={id} className={styles.item}>
          <OperationStatus state={state} />
          <span className="mono">{target.name}</span>
          <span>
            {doing[kind]}, {progress} %, <Time at={createdAt} />
            {waiting !== null && <span className="muted"> {waiting.message}</span>}
            <Meter percent={progress} label={`Progress of ${doing[kind]} ${target.name}`} />
          </span>
          <Link
            to="/teams/$team/operations/$id"
            params={{ team, id }}
            aria-label={`Follow ${doing[kind]} ${target.name}`}
          >
            Follow
          </Link>
        </li>
      ))}
    </ul>
  );
}

function MonthlyCost({ clusters }: { readonly clusters: readonly Cluster[] }) {
  const priced = clusters.map(({ status }) => status.cost);
  const currency = priced.find((cost) => cost.currency !== null)?.currency ?? null;
  const costs = priced.map(pricedMonthly);
  const prices = costs.map((cost) => cost.priced).filter(({ minimum }) => minimum !== null);
  const unpriced = costs.reduce((sum, cost) => sum + cost.unpriced, 0);
  if (clusters.length === 0) return <p className="muted">No clusters, no cost.</p>;
  return (
    <div>
      <div className={`${styles.big} numeric`}>
        {prices.length === 0 ? 'not known' : moneyRange(sumOfRanges(prices), currency)}
      </div>
      <div className="muted">Net, nodes only, from the smallest to the largest size of all pools.</div>
      {unpriced > 0 && <div className="muted">Plus {unpricedText(unpriced)}.</div>}
    </div>
  );
}

const lastChanges = (changes: readonly LastChange[]) =>
  changes.length === 0 ? (
    <p className="muted">Nothing was changed yet.</p>
  ) : (
    <ul className={styles.list}>
      {changes.map(({ id, at, who, action, target }) => (
        <li key={id} className={`${styles.item} ${styles.change}`}>
          <Time at={at} />
          <span>{who}</span>
          <span>{didOf(action)}</span>
          <span className="mono">{target}</span>
        </li>
      ))}
    </ul>
  );
