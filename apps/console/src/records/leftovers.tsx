import type { Rrset } from '@corral/contracts';
import { acmeLeftovers, type RecordSetChanges, removalOf, type WantedSet } from '@corral/domain';
import { Button } from '@mantine/core';
import { plural } from '../ui/plural.js';

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
