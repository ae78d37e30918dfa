import { type OperationErrorCode, operationErrorCodes } from '@corral/contracts';

/** What becomes of an operation at the end of a pass. */
export type OperationVerdict<Code extends OperationErrorCode> =
  /** There is none, or it stays as it is. */
  | { readonly to: 'stay' }
  | { readonly to: 'running'; readonly progress: number }
  | { readonly to: 'succeeded' }
  | { readonly to: 'failed'; readonly code: Code; readonly message: string };

/** 100 is what `succeeded` alone may say. */
const PROGRESS_MAX_RUNNING = 99;

/** As columns: state, progress, error, and whether that is final. */
export function operationValues(verdict: OperationVerdict<OperationErrorCode>): [string, number, string, boolean] {
  switch (verdict.to) {
    case 'stay':
      return ['running', 0, '{}', false];
    case 'running':
      return ['running', Math.min(PROGRESS_MAX_RUNNING, Math.max(0, Math.round(verdict.progress))), '{}', false];
    case 'succeeded':
      return ['succeeded', 100, '{}', true];
    case 'failed': {
      const { code, message } = verdict;
      const { retryable, hint } = operationErrorCodes[code];
      return ['failed', 0, JSON.stringify({ code, message, retryable, hint }), true];
    }
  }
}
