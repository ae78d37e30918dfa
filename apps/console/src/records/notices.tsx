import type { Rrset } from '@corral/contracts';
import { acmeLeftovers, type RecordSetChanges, removalOf, type WantedSet } from '@corral/domain';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { danglingQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { plural } from '../ui/plural.js';
import { Status } from '../ui/status.js';
import styles from './records.module.css';

/** The record sets that lead to an address which is gone, each with the reason. Nothing without any. */
export function DanglingSets() {
  const { slug: team } = useTeam();
  const { items } = useQuery(danglingQuery(team)).data ?? { items: [] };
  if (items.length === 0) return null;
  return (
    <details className={styles.dangling}>
      <summary>
        <Status tone="warning">Dangling</Status> {plural(items.length, 'record set')} with an address that is gone
      </summary>
      <ul aria-label="Dangling record sets">
        {items.map(({ zone, name, type, reason }) => (
          <li key={`${zone} ${name} ${type}`}>
            <Link to="/teams/$team/dns/records/$name/$type" params={{ team, name, type }} className="mono">
              {name} {type}
            </Link>{' '}
            {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

interface LeftoversProps {
  readonly rrsets: readonly Rrset[];
  readonly changes: RecordSetChanges | undefined;
  readonly onStage: (sets: readonly WantedSet[]) => void;
}

/** Says how many ACME challenges nobody took away, and plans their removal. */
export function Leftovers({ rrsets, changes = [], onStage }: LeftoversProps) {
  const found = acmeLeftovers(rrsets, changes, new Date()).map(({ rrset }) => rrset);
  if (found.length === 0) return null;
  const names = found.map(({ name }) => name).join('\n');
  return (
    <>
      <span title={names}>{`${plural(found.length, 'ACME challenge')} older than a day.`}</span>
      <Button onClick={() => onStage(found.map(removalOf))}>Remove {found.length === 1 ? 'it' : 'them'}</Button>
    </>
  );
}
