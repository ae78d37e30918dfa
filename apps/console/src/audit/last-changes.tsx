import type { FieldChange } from '@corral/contracts';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { auditQuery, operationsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Section } from '../ui/page.js';
import { Loaded } from '../ui/states.js';
import { actorOf } from './audit-entry-view.js';

const SHOWN = 8;

export interface LastChange {
  readonly id: string;
  readonly at: string;
  readonly who: string;
  readonly action: string;
  readonly target: string;
  readonly fields: readonly FieldChange[];
}

interface LastChangesProps {
  readonly title: string;
  /** The cluster that they are about; without it, they are those of the team. */
  readonly cluster?: { readonly name: string; readonly id: string };
  readonly children: (changes: readonly LastChange[]) => ReactNode;
}

/** Who did what: from the audit log for administrators; others see who began which operation. */
export function LastChanges({ title, cluster, children }: LastChangesProps) {
  const { slug: team, can } = useTeam();
  const seesAudit = can('listAudit');
  const search = cluster === undefined ? {} : { name: cluster.name };
  const audit = useQuery({ ...auditQuery(team, { ...search, limit: SHOWN }), enabled: seesAudit });
  const operations = useQuery({ ...operationsQuery(team, cluster?.id), enabled: !seesAudit });
  if (!seesAudit) {
    return (
      <Section title={title}>
        <Loaded query={operations} what="operations">
          {(all) =>
            children(
              all.slice(0, SHOWN).map(({ id, createdAt, createdBy, kind, target }) => ({
                id,
                at: createdAt,
                who: createdBy?.displayName ?? 'Corral',
                action: kind,
                target: target.name,
                fields: [],
              })),
            )
          }
        </Loaded>
      </Section>
    );
  }
  const link = (
    <Link to="/teams/$team/audit" params={{ team }} search={search}>
      Audit log
    </Link>
  );
  return (
    <Section title={title} actions={link}>
      <Loaded query={audit} what="the last changes">
        {({ items }) =>
          children(
            items.map(({ id, createdAt, actor, action, target, changes }) => ({
              id,
              at: createdAt,
              who: actorOf({ actor }),
              action,
              target: target.name,
              fields: changes ?? [],
            })),
          )
        }
      </Loaded>
    </Section>
  );
}
