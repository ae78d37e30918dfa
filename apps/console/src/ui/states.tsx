import { type CorralError, isCorralError } from '@corral/client';
import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useIsSlow } from '../api/slow-reads.js';
import styles from './states.module.css';

/** @param what such as `clusters`. Shown after 300 ms only: most loads are faster. */
export function Loading({ what }: { readonly what: string }) {
  const isSlow = useIsSlow();
  return (
    <div className={styles.loading} role="status">
      Loading {what} … {isSlow && 'The server takes longer than usual.'}
    </div>
  );
}

/** A list without entries, with what to do about it. */
export function Empty({ children, action }: { readonly children: ReactNode; readonly action?: ReactNode }) {
  return (
    <div className={styles.box}>
      <div>{children}</div>
      {action}
    </div>
  );
}

export interface FailedProps {
  readonly error: unknown;
  /** What failed, such as `The clusters could not be loaded.` */
  readonly what?: string;
  readonly onRetry?: () => void;
}

const detailOf = ({ code, detail }: CorralError): string =>
  code === 'network' || code === 'timeout'
    ? 'The server did not answer. Check your connection. Your input is still here.'
    : detail;

/** A refusal or failure: what the API says about it, and the id that an operator asks for. */
export function Failed({ error, what, onRetry }: FailedProps) {
  const detail = isCorralError(error)
    ? detailOf(error)
    : 'The page has an error, or Corral was updated since you opened it. Reload it; if it comes back, report it.';
  const requestId = isCorralError(error) ? error.requestId : null;
  const waitMs = isCorralError(error) ? error.retryAfterMs : null;
  return (
    <div className={`${styles.box} ${styles.failed}`} role="alert">
      {what !== undefined && <strong>{what}</strong>}
      <div>{detail}</div>
      {waitMs !== null && <div className={styles.details}>Possible again in {Math.ceil(waitMs / 1_000)} s.</div>}
      {requestId !== null && (
        <div className={styles.details}>
          Request <code>{requestId}</code>
        </div>
      )}
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

export interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  /** What is loaded, in the plural or with its article: `clusters`, `the cluster`. */
  readonly what: string;
  /** Shown for a refusal with 403. */
  readonly forbidden?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** Shows data once it is there, and otherwise why it is not. Data of before a failed reload stays visible. */
export function Loaded<T>({ query, what, forbidden, children }: LoadedProps<T>) {
  const { data, error, refetch } = query;
  if (data !== undefined) return children(data);
  if (error === null) return <Loading what={what} />;
  if (isCorralError(error) && error.status === 403 && forbidden !== undefined) return <Empty>{forbidden}</Empty>;
  const subject = what.charAt(0).toUpperCase() + what.slice(1);
  if (isCorralError(error) && error.status === 404) {
    return <Empty>Not found: {what}. It was deleted, or is in another team.</Empty>;
  }
  return <Failed error={error} what={`${subject} could not be loaded.`} onRetry={() => void refetch()} />;
}

export interface AllLoadedProps {
  readonly queries: readonly { readonly query: UseQueryResult<unknown>; readonly what: string }[];
  readonly children: ReactNode;
}

/** Shows what is only true when everything is loaded, and otherwise in one box what is missing. */
export function AllLoaded({ queries, children }: AllLoadedProps) {
  const missing = queries.filter(({ query }) => query.data === undefined);
  if (missing.length === 0) return children;
  const failed = missing.filter(({ query }) => query.error !== null);
  if (failed.length === 0) return <Loading what={listed(missing)} />;
  const subject = listed(failed);
  return (
    <Failed
      error={failed[0]?.query.error}
      what={`${subject.charAt(0).toUpperCase()}${subject.slice(1)} could not be loaded.`}
      onRetry={() => {
        for (const { query } of failed) void query.refetch();
      }}
    />
  );
}

const listed = (parts: readonly { readonly what: string }[]): string =>
  new Intl.ListFormat('en-GB').format(parts.map(({ what }) => what));
