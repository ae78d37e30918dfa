import { Link } from '@tanstack/react-router';
import {
  Boxes,
  Cable,
  ChartColumn,
  FileText,
  FlaskConical,
  House,
  KeyRound,
  type LucideIcon,
  ScrollText,
  Settings,
  Table2,
  Users,
  Webhook,
} from 'lucide-react';
import styles from './shell.module.css';
import { type TeamContext, type TeamOperation, useTeam } from './use-team.js';

type Group = 'DNS' | 'Clusters' | 'Team';

export interface Place {
  readonly label: string;
  /** Path below `/console/teams/{team}`. */
  readonly path: string;
  readonly icon: LucideIcon;
  readonly group?: Group;
  /** The second key after `g`. */
  readonly key?: string;
  /** Shown to those who may do this. */
  readonly operation?: TeamOperation;
}

/** The pages of a team, in the order of the navigation. The palette and the keyboard jump to the same ones. */
export const places: readonly Place[] = [
  { label: 'Home', path: '', icon: House, key: 'h' },
  { label: 'Record sets', path: '/dns/records', icon: Table2, group: 'DNS', key: 'r' },
  { label: 'Zone file', path: '/dns/zone-file', icon: FileText, group: 'DNS', key: 'z' },
  { label: 'DNS tokens', path: '/dns/tokens', icon: KeyRound, group: 'DNS', key: 't' },
  { label: 'Demos', path: '/dns/demos', icon: FlaskConical, group: 'DNS' },
  { label: 'Clusters', path: '/clusters', icon: Boxes, group: 'Clusters', key: 'c' },
  { label: 'Connections', path: '/connections', icon: Cable, group: 'Clusters' },
  { label: 'Access', path: '/access', icon: Users, group: 'Team' },
  { label: 'Webhooks', path: '/webhooks', icon: Webhook, group: 'Team', operation: 'listWebhooks' },
  { label: 'Usage', path: '/usage', icon: ChartColumn, group: 'Team', key: 'u' },
  { label: 'Audit', path: '/audit', icon: ScrollText, group: 'Team', key: 'a', operation: 'listAudit' },
  { label: 'Settings', path: '/settings', icon: Settings, group: 'Team' },
];
const groups: readonly (Group | undefined)[] = [undefined, 'DNS', 'Clusters', 'Team'];

export const placesFor = (can: TeamContext['can']): readonly Place[] =>
  places.filter(({ operation }) => operation === undefined || can(operation));

/** @param path below that of the team */
export const teamPath = (team: string, path: string): string => `/teams/${team}${path}`;
export const pathOf = (team: string, place: Place): string => teamPath(team, place.path);

/** @param onGo after a click, for a drawer to close */
export function Navigation({ team, onGo }: { readonly team: string; readonly onGo?: () => void }) {
  const shown = placesFor(useTeam().can);
  return (
    <nav aria-label="Pages of the team" className={styles.navigation}>
      {groups.map((group) => (
        <div key={group ?? ''} className={styles.group}>
          {group !== undefined && <div className={styles.groupName}>{group}</div>}
          <ul className={styles.nav} aria-label={group}>
            {shown
              .filter((place) => place.group === group)
              .map((place) => (
                <li key={place.label}>
                  <Link
                    to={pathOf(team, place)}
                    className={styles.link}
                    activeOptions={{ exact: place.path === '' }}
                    {...(onGo === undefined ? {} : { onClick: onGo })}
                  >
                    <place.icon size={14} aria-hidden />
                    {place.label}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}
