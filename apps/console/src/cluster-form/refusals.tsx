import { type FieldProblem, isCorralError } from '@corral/client';
import { placeOf } from '@corral/contracts';
import type { Ref } from 'react';
import { Failed } from '../ui/states.js';
import styles from './plan.module.css';

export interface RefusalsProps {
  readonly error: unknown;
  readonly onReveal?: (pointer: string) => void;
  readonly onRetry: () => void;
  readonly ref?: Ref<HTMLDivElement>;
}

/** Why a change would be refused: every reason, and the way to its field. */
export function Refusals({ error, onReveal, onRetry, ref }: RefusalsProps) {
  const hasFields =
    isCorralError(error) && error.errors.some(({ pointer, detail }) => pointer !== '' || detail !== undefined);
  if (!isCorralError(error) || !hasFields) {
    const isTemporary = isCorralError(error) && (error.status === 0 || error.status === 429 || error.status >= 500);
    return (
      <div ref={ref} tabIndex={-1}>
        <Failed
          error={error}
          what={isTemporary ? 'The plan could not be made.' : 'This would be refused.'}
          {...(isTemporary ? { onRetry } : {})}
        />
      </div>
    );
  }
  return (
    <section ref={ref} tabIndex={-1} aria-label="Reasons for a refusal" className={styles.refusals}>
      <strong>This would be refused.</strong>
      <ul className={styles.list}>
        {error.errors.map((field) => (
          <li key={`${field.pointer} ${field.message}`}>
            <Refusal field={field} {...(onReveal === undefined ? {} : { onReveal })} />
          </li>
        ))}
      </ul>
      {error.requestId !== null && <code className="muted">{error.requestId}</code>}
    </section>
  );
}

function Refusal({ field, onReveal }: { readonly field: FieldProblem; readonly onReveal?: (pointer: string) => void }) {
  const { pointer, message, detail } = field;
  if (pointer === '') return detail ?? message;
  const name = placeOf(pointer).replace(/^spec\./, '');
  return (
    <>
      {onReveal === undefined ? (
        <code>{name}</code>
      ) : (
        <button type="button" className={styles.reveal} onClick={() => onReveal(pointer)}>
          <code>{name}</code>
        </button>
      )}{' '}
      {message}
    </>
  );
}
