import { type FieldProblem, isCorralError } from '@corral/client';
import type { Ref } from 'react';
import { Failed } from '../ui/states.js';
import styles from './plan.module.css';
import { fieldName } from './plan-text.js';

export interface RefusalsProps {
  readonly error: unknown;
  /** The names of the pools that were declared. */
  readonly pools: readonly string[];
  readonly onReveal?: (pointer: string) => void;
  readonly onRetry: () => void;
  readonly ref?: Ref<HTMLDivElement>;
}

/** Why a change would be refused: every reason, and the way to its field. */
export function Refusals({ error, pools, onReveal, onRetry, ref }: RefusalsProps) {
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
            <Refusal field={field} pools={pools} {...(onReveal === undefined ? {} : { onReveal })} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface RefusalProps {
  readonly field: FieldProblem;
  readonly pools: readonly string[];
  readonly onReveal?: (pointer: string) => void;
}

function Refusal({ field, pools, onReveal }: RefusalProps) {
  const { pointer, message, detail } = field;
  if (pointer === '') return detail ?? message;
  const name = fieldName(pointer, pools);
  return (
    <>
      {onReveal === undefined ? (
        <strong>{name}</strong>
      ) : (
        <button type="button" className={styles.reveal} onClick={() => onReveal(pointer)}>
          {name}
        </button>
      )}
      : {message}
    </>
  );
}
