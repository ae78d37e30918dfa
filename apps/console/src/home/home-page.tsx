import type { Cluster, Operation } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  auditQuery,
  catalogueQuery,
  clustersQuery,
  connectionsQuery,
  dnsTokensQuery,
  dnsUsageQuery,
  operationsQuery,
} from '../api/queries.js';
import { teamPath } from '../shell/navigation.js';
import { type TeamContext, useTeam } from '../shell/use-team.js';
import { moneyRange, sumOfRanges } from '../ui/money.js';
import { Page, Section } from '../ui/page.js';
import { Loaded } from '../ui/states.js';
import { Meter, OperationStatus, Status } from '../ui/status.js';
import { Time, useNow } from '../ui/time.js';
import { type Attention, attentionOf } from './attention.js';
import { FirstSteps } from './first-steps.js';
import styles from './home.module.css';

const CHANGES_SHOWN = 8;

/** What a person of the team wants to know first: what needs them, what is under way, what it costs, who changed what. */
export function HomePage() {
  const team = useTeam();
  const now = useNow();
  const { slug } = team;
  const clusters = useQuery(clustersQuery(slug));
  const connections = useQuery(connectionsQuery(slug));
  const tokens = useQuery(dnsTokensQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const catalogue = useQuery(catalogueQuery(slug));
  const operations = useQuery(operationsQuery(slug));
  const attention = attentionOf(
    {
      clusters: clusters.data,
      connections: connections.data,
      tokens: tokens.data,
      usage: usage.data,
      limits: catalogue.data?.limits,
    },
    now,
  );
  const isEmpty = clusters.data?.length === 0 && usage.data?.records.used === 0;
  return (
    <Page title="Home">
      {isEmpty && <FirstSteps team={slug} hasConnection={(connections.data?.length ?? 0) > 0} />}
      <Section title={attention.length === 0 ? 'Needs attention' : `Needs attention (${attention.length})`}>
        <Loaded query={clusters} what="clusters">
          {() => <AttentionList team={slug} attention={attention} />}
        </Loaded>
      </Section>
      <Section title="Under way">
        <Loaded query={operations} what="operations">
          {(all) => <UnderWay team={slug} operations={all.filter(isOpen)} />}
        </Loaded>
      </Section>
      <div className={styles.columns}>
        <Section
          title="Cost per month"
          actions={
            <Link to="/teams/$team/clusters" params={{ team: slug }}>
              Clusters
            </Link>
          }
        >
          <Loaded query={clusters} what="clusters">
            {(all) => <MonthlyCost clusters={all} />}
          </Loaded>
        </Section>
        <Section
          title="Record sets"
          actions={
            <Link to="/teams/$team/dns/records" params={{ team: slug }}>
              Records
            </Link>
          }
        >
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
      <Changes team={team} operations={operations.data ?? []} />
    </Page>
  );
}

const isOpen = ({ state }: Operation): boolean => state === 'queued' || state === 'running';

function AttentionList({ team, attention }: { readonly team: string; readonly attention: readonly Attention[] }) {
  if (attention.length === 0) return <p className="muted">Nothing needs attention.</p>;
  return (
    <ul className={styles.list}>
      {attention.map(({ id, tone, kind, subject, detail, action, to }) => (
        <li key={id} className={styles.item}>
          <Status tone={tone}>{kind}</Status>
          <span className="mono">{subject}</span>
          <span>{detail}</span>
          <Link to={teamPath(team, to)} aria-label={`${action}: ${subject}`}>
            {action}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function UnderWay({ team, operations }: { readonly team: string; readonly operations: readonly Operation[] }) {
  if (operations.length === 0) return <p className="muted">Nothing is under way.</p>;
  return (
    <ul className={styles.list}>
      {operations.map(({ id, kind, target, state, progress, waiting, createdAt }) => (
        <li key={id} className={styles.item}>
          <OperationStatus state={state} />
          <span className="mono">{target.name}</span>
          <span>
            {kind}, {progress} %, <Time at={createdAt} />
            {waiting !== null && <span className="muted"> {waiting.message}</span>}
            <Meter percent={progress} label={`Progress of ${kind} of ${target.name}`} />
          </span>
          <Link to="/teams/$team/operations/$id" params={{ team, id }} aria-label={`Follow ${kind} of ${target.name}`}>
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
  const unknown = priced.filter(({ monthly }) => monthly.minimum === null).length;
  const known = sumOfRanges(priced.map(({ monthly }) => monthly).filter(({ minimum }) => minimum !== null));
  if (clusters.length === 0) return <p className="muted">No clusters, no cost.</p>;
  return (
    <div>
      <div className={`${styles.big} numeric`}>{moneyRange(known, currency)}</div>
      <div className="muted">Net, nodes only, from the smallest to the largest size of all pools.</div>
      {unknown > 0 && <div className="muted">The price of {unknown} clusters is not known.</div>}
    </div>
  );
}

/** The audit log for administrators; other members see who began which operation. */
function Changes({ team, operations }: { readonly team: TeamContext; readonly operations: readonly Operation[] }) {
  const audit = useQuery({ ...auditQuery(team.slug, { limit: CHANGES_SHOWN }), enabled: team.isAdmin });
  const link = team.isAdmin ? (
    <Link to="/teams/$team/audit" params={{ team: team.slug }}>
      Audit log
    </Link>
  ) : undefined;
  const rows = team.isAdmin
    ? (audit.data?.items ?? []).map(({ id, createdAt, actor, action, target }) => ({
        id,
        createdAt,
        who: actor.name ?? actor.kind,
        what: action,
        target: target.name,
      }))
    : operations.slice(0, CHANGES_SHOWN).map(({ id, createdAt, createdBy, kind, target }) => ({
        id,
        createdAt,
        who: createdBy?.displayName ?? 'the service',
        what: kind,
        target: target.name,
      }));
  return (
    <Section title="Last changes" actions={link}>
      {rows.length === 0 ? (
        <p className="muted">Nothing was changed yet.</p>
      ) : (
        <ul className={styles.list}>
          {rows.map(({ id, createdAt, who, what, target }) => (
            <li key={id} className={styles.item}>
              <Time at={createdAt} />
              <span>{who}</span>
              <span className="mono">{what}</span>
              <span className="mono">{target}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
