import type { RowChange } from '../clusters/row-history.js';

/** An operation that a client knows. */
export interface AcceptedOperation {
  readonly team: string;
  readonly id: string;
}

/** What the participants of a crash test share. */
export interface Stage {
  isOver(): boolean;
  /** Counts something of this kind that was accepted or done. */
  count(kind: string): void;
  accept(operation: AcceptedOperation): void;
  /** Reports an event that must never happen, whatever is killed. */
  report(problem: string): void;
}

/** Work besides clients and their clusters, which checks its own outcome afterwards. */
export interface Sideline {
  /** The kinds that a run needs to say anything about this work. */
  readonly needed: readonly string[];
  /** Resolves some time after the run is over. */
  run(stage: Stage): Promise<void>;
  /** Every problem once all work has settled, in words. */
  findContradictions(changes: readonly RowChange[]): Promise<string[]>;
}
