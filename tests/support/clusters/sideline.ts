import type { RowChange } from './row-history.js';

/** An operation that a client was told of. */
export interface ToldOperation {
  readonly team: string;
  readonly id: string;
}

/** What goes on around those who take part in a crash test. */
export interface Stage {
  isOver(): boolean;
  /** Something of that kind was accepted or done. */
  count(kind: string): void;
  tell(operation: ToldOperation): void;
  /** What must never happen, whatever is killed. */
  report(problem: string): void;
}

/** Something that goes on beside clients and their clusters, and knows afterwards what has to have become of it. */
export interface Sideline {
  /** Kinds without which a run shows nothing about it. */
  readonly needed: readonly string[];
  /** Resolves some time after it is over. */
  run(stage: Stage): Promise<void>;
  /** What is wrong once everything has settled, in words. */
  findContradictions(changes: readonly RowChange[]): Promise<string[]>;
}
