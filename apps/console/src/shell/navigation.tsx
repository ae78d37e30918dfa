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
} from 'lucide-react';
import styles from './shell.module.css';

export interface Place {
  readonly label: string;
  /** Path below `/console/teams/{team}`. */
  readonly path: string;
  readonly icon: LucideIcon;
  readonly group?: 'DNS';
  /** The second key after `g`. */
  readonly key?: string;
}

/** The pages of a team, in the order of the navigation. The palette and the keyboard jump to the same ones. */
export const places: readonly Place[] = [
  { label: 'Home', path: '', icon: House, key: 'h' },
  { label: 'Record sets', path: '/dns/records', icon: Table2, group: 'DNS', key: 'r' },
  { label: 'Zone file', path: '/dns/zone-file', icon: FileText, group: 'DNS', key: 'z' },
  { label: 'DNS tokens', path: '/dns/tokens', icon: KeyRound, group: 'DNS', key: 't' },
  { label: 'Demos', path: '/dns/demos', icon: FlaskConical, group: 'DNS' },
  { label: 'Clusters', path: '/clusters', icon: Boxes, key: 'c' },
  { label: 'Connections', path: '/connections', icon: Cable },
  { label: 'Usage', path: '/usage', icon: ChartColumn, key: 'u' },
  { label: 'People', path: '/people', icon: Users },
  { label: 'Audit', path: '/audit', icon: ScrollText, key: 'a' },
  { label: 'Settings', path: '/settings', icon: Settings },
];

/** @param path below that of the team */
export const teamPath = (team: string, path: string): string => `/teams/${team}${path}`;
export const pathOf = (team: string, place: Place): string => teamPath(team, place.path);

/** @param onGo after a click, for a drawer to close */
export function Navigation({ team, onGo }: { readonly team: string; readonly onGo?: () => void }) {
  return (
    <nav aria-label="Pages of the team" className={styles.navigation}>
      <ul className={styles.nav}>
        {places.map((place, index) => {
          const { label, icon: Icon, group, path } = place;
          const isFirstOfGroup = group !== undefined && places[index - 1]?.group !== group;
          return (
            <li key={label}>
              {isFirstOfGroup && <div className={styles.group}>{group}</div>}
              <Link
                to={pathOf(team, place)}
                className={styles.link}
                activeOptions={{ exact: path === '' }}
                {...(onGo === undefined ? {} : { onClick: onGo })}
              >
                <Icon size={14} aria-hidden />
                {label}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
