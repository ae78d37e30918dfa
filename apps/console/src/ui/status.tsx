import type { ClusterPhase, ConnectionPhase, OperationState, ServerPhase } from '@corral/contracts';
import { Check, Circle, CircleDashed, TriangleAlert, X } from 'lucide-react';
import styles from './status.module.css';

export type Tone = 'good' | 'warning' | 'bad' | 'running' | 'idle';

const signs = { good: Check, warning: TriangleAlert, bad: X, running: CircleDashed, idle: Circle } as const;

/** A state as sign, word and colour: no state depends on its colour alone. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  const Sign = signs[tone];
  return (
    <span className={`${styles.status} ${styles[tone]}`}>
      <Sign size={12} aria-hidden />
      {children}
    </span>
  );
}

const clusterTones: Readonly<Record<ClusterPhase, Tone>> = {
  Draft: 'idle',
  Pending: 'running',
  Provisioning: 'running',
  Ready: 'good',
  Updating: 'running',
  Hibernating: 'running',
  Hibernated: 'idle',
  Resuming: 'running',
  Degraded: 'warning',
  Failed: 'bad',
  Deleting: 'running',
};

const operationTones: Readonly<Record<OperationState, Tone>> = {
  queued: 'running',
  running: 'running',
  succeeded: 'good',
  failed: 'bad',
  superseded: 'idle',
  cancelled: 'idle',
};

const connectionTones: Readonly<Record<ConnectionPhase, Tone>> = {
  Unverified: 'warning',
  Ready: 'good',
  Rejected: 'bad',
};

const serverTones: Readonly<Record<ServerPhase, Tone>> = {
  Adopting: 'running',
  Rebuilding: 'running',
  Ready: 'good',
  Joining: 'running',
  Joined: 'good',
  Leaving: 'running',
  Failed: 'bad',
  Missing: 'bad',
  Deregistering: 'running',
};

/* Phases stand verbatim: they are the words of the API, its documentation and its command lines. */

/** @param waits whether a pool waits for a machine of the team: then a cluster is not simply well */
export function ClusterStatus({ phase, waits = false }: { readonly phase: ClusterPhase; readonly waits?: boolean }) {
  const tone = clusterTones[phase];
  if (waits && tone === 'good') return <Status tone="warning">{`${phase}, waits for a machine`}</Status>;
  return <Status tone={tone}>{phase}</Status>;
}
export const OperationStatus = ({ state }: { readonly state: OperationState }) => (
  <Status tone={operationTones[state]}>{state}</Status>
);
export const ConnectionStatus = ({ phase }: { readonly phase: ConnectionPhase }) => (
  <Status tone={connectionTones[phase]}>{phase}</Status>
);
export const ServerStatus = ({ phase }: { readonly phase: ServerPhase }) => (
  <Status tone={serverTones[phase]}>{phase}</Status>
);

interface MeterProps {
  readonly percent: number;
  /** What the bar measures, for screen readers. */
  readonly label: string;
  /** A quota: nearly all of it is a warning. */
  readonly isQuota?: boolean;
}

const SCARCE_PERCENT = 90;

export function Meter({ percent, label, isQuota = false }: MeterProps) {
  const isScarce = isQuota && percent >= SCARCE_PERCENT;
  return (
    <div
      className={styles.meter}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div
        className={`${styles.bar} ${isScarce ? styles.scarce : ''}`}
        style={{ width: `${Math.max(0, Math.min(100, percent))}%` }}
      />
    </div>
  );
}
