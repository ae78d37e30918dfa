import type { Cli } from '../cli.js';
import { CliError } from '../exit-codes.js';
import { startProgress } from '../output/progress.js';
import { failureOf, stepOf, type TeamApi, untilEnded } from './team-api.js';

/** Options of commands that change clusters. */
export interface LifecycleOptions {
  readonly wait?: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly dryRun?: boolean;
}

interface Begun {
  readonly name: string;
  /** One word. */
  readonly result: string;
  readonly operationId: string | null;
  readonly options: LifecycleOptions;
}

/** Waits for the operation of one cluster if that is wanted, and says how it went. @throws CliError if it did not succeed */
export async function endOperation(
  cli: Cli,
  api: TeamApi,
  { name, result, operationId, options }: Begun,
): Promise<void> {
  if (operationId === null || options.wait !== true) {
    const id = operationId === null ? '' : `, operation ${operationId}`;
    cli.result(
      { name, result, operation: operationId === null ? null : { id: operationId, state: null } },
      `${name} ${result}${id}\n`,
    );
    return;
  }
  const progress = startProgress(cli.io, [name]);
  const operation = await untilEnded(api, operationId, {
    timeoutMs: options.timeout,
    onProgress: (seen) => progress.show(name, stepOf(seen)),
  }).finally(progress.end);
  const { state } = operation;
  cli.result(
    { name, result, operation: { id: operationId, state } },
    `${name} ${result}, operation ${operationId} ${state}\n`,
  );
  const failure = failureOf(operation);
  if (failure !== null) throw new CliError(state === 'superseded' ? 'conflict' : 'refused', `${name}: ${failure}`);
}
