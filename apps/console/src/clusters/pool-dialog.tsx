import type { Cluster, ClusterSpec, NodePoolSpec } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { catalogueQuery } from '../api/queries.js';
import { PoolFields } from '../cluster-form/pool-fields.js';
import { firstTypeIn, newPool } from '../cluster-form/spec-choices.js';
import { useTeam } from '../shell/use-team.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';

interface PoolDialogProps {
  readonly cluster: Cluster;
  /** The pool that is changed; null: one is added. */
  readonly pool: string | null;
  readonly onClose: () => void;
}

/** The fields of one pool above the plan of what they do. */
export function PoolDialog({ cluster, pool, onClose }: PoolDialogProps) {
  const { slug: team } = useTeam();
  const spec = cluster.spec as ClusterSpec;
  const catalogue = useQuery(catalogueQuery(team, spec.connectionRef));
  const [edited, setEdited] = useState<Partial<NodePoolSpec>>({});
  const present = spec.nodePools.find(({ name }) => name === pool);
  const added = newPool(
    spec.nodePools.map(({ name }) => name),
    firstTypeIn(catalogue.data, spec.region),
  );
  const draft = { ...(present ?? added), ...edited } as NodePoolSpec;
  const index = present === undefined ? spec.nodePools.length : spec.nodePools.indexOf(present);
  const of = cluster.metadata.name;
  return (
    <PlannedChangeDialog
      cluster={cluster}
      spec={{ ...spec, nodePools: spec.nodePools.toSpliced(index, present === undefined ? 0 : 1, draft) }}
      action={present === undefined ? `Add a pool to ${of}` : `Change ${pool} of ${of}`}
      onClose={onClose}
      fields={(problems) => (
        <PoolFields
          pool={draft}
          region={spec.region}
          catalogue={catalogue.data}
          isNew={present === undefined}
          at={(field) => {
            const pointer = `/spec/nodePools/${index}${field === '' ? '' : `/${field}`}`;
            return {
              'data-pointer': pointer,
              error: problems.find((each) => each.pointer === pointer)?.message ?? null,
            };
          }}
          onField={([field], value) => setEdited({ ...edited, [field]: value })}
        />
      )}
    />
  );
}
