import type { Cluster } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { auditQuery, operationsQuery } from '../api/queries.js';
import { didOf } from '../api/words.js';
import { actorOf } from '../audit/audit-entry-view.js';
import { changeSentence } from '../cluster-form/plan-text.js';
import { useTeam } from '../shell/use-team.js';
import { Section } from '../ui/page.js';
import { Loaded } from '../ui/states.js';
import { Time } from '../ui/time.js';
import styles from './clusters.module.css';

const SHOWN = 8;
const CHANGES_SHOWN = 3;

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly who: string;
  readonly what: string;
  readonly changes: readonly string[];
}

/** Shows who did what to the cluster: from the audit log for administrators, otherwise from its operations. */
export function Activity({ cluster }: { readonly cluster: Cluster }) {
  const { slug: team, can } = useTeam();
  const seesAudit = can('listAudit');
  const { name, id } = cluster.metadata;
  const audit = useQuery({ ...auditQuery(team, { name, limit: SHOWN }), enabled: seesAudit });
  const operations = useQuery({ ...operationsQuery(team, id), enabled: !seesAudit });
  const poolNames = cluster.spec.nodePools.map((pool) => pool.name);
  if (!seesAudit) {
    return (
      <Section title="Activity">
        <Loaded query={operations} what="operations">
          {(all) => (
            <Entries
              entries={all.slice(0, SHOWN).map((operation) => ({
                id: operation.id,
                at: operation.createdAt,
                who: operation.createdBy?.displayName ?? 'Corral',
                what: shortOf(operation.kind),
                changes: [],
              }))}
            />
          )}
        </Loaded>
      </Section>
    );
  }
  const all = (
    <Link to="/teams/$team/audit" params={{ team }} search={{ name }}>
      Audit log
    </Link>
  );
  return (
    <Section title="Activity" actions={all}>
      <Loaded query={audit} what="the activity">
        {({ items }) => (
          <Entries
            entries={items.map((entry) => {
              const changes = entry.changes ?? [];
              // A region is set at creation only.
              const isCreation = changes.some(({ pointer }) => pointer === '/spec/region');
              return {
                id: entry.id,
                at: entry.createdAt,
                who: actorOf(entry),
                what: shortOf(isCreation ? 'cluster.create' : entry.action),
                changes: isCreation ? [] : changes.map((change) => changeSentence(change, poolNames)),
              };
            })}
          />
        )}
      </Loaded>
    </Section>
  );
}

function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  if (entries.length === 0) return <p className="muted">Nothing was done yet.</p>;
  return (
    <ul className={styles.entries}>
      {entries.map(({ id, at, who, what, changes }) => (
        <li key={id}>
          <Time at={at} />
          <span>
            {who} {what}
            {changes.length > 0 && `: ${changes.slice(0, CHANGES_SHOWN).join(', ')}`}
            {changes.length > CHANGES_SHOWN && ' …'}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The page says already of what: "got a kubeconfig". */
const shortOf = (action: string): string => didOf(action).replace(/ of$/, '');
