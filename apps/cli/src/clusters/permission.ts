import type { Cli } from '../cli.js';
import { usageError } from '../exit-codes.js';
import { type CliIo, isInteractive } from '../io.js';
import { confirm, confirmCount } from '../output/ask.js';
import { deletedText } from './deletions.js';
import { shortEffect } from './effect-text.js';
import { type PlannedChange, removalsIn } from './planned-change.js';

/** What of a plan has to be permitted. */
export interface Asked {
  readonly changes: readonly PlannedChange[];
  /** Names of what no file names. */
  readonly deleted: readonly string[];
  /** What one of them is. */
  readonly noun: string;
  /** Whether the plan changes anything. */
  readonly hasEffects: boolean;
  /** Whether `--yes` is needed even where nobody can be asked. */
  readonly needsYes?: boolean;
}

export interface Permission {
  readonly yes?: boolean;
  readonly allowRemovals?: boolean;
  /** How much may be deleted without a question. */
  readonly permitted: number;
}

/** @param prune as it was typed: true without a number @param noun what is counted, such as `clusters` */
export function permittedDeletions(prune: true | string | undefined, noun: string): number {
  if (prune === undefined || prune === true) return 0;
  if (!/^\d{1,6}$/.test(prune)) throw usageError(`${prune} is no number of ${noun}. Use --prune=2.`);
  return Number(prune);
}

/**
 * Asks before anything is changed. Where nobody can be asked, what takes something away has to be permitted. `--yes` does not mean
 * deletions.
 */
export async function permit(
  io: CliIo,
  asked: Asked,
  { yes = false, allowRemovals = false, permitted }: Permission,
): Promise<void> {
  const { deleted, hasEffects, needsYes = false } = asked;
  const removed = removedText(asked.changes);
  if (!isInteractive(io) && removed !== null && !allowRemovals) {
    throw usageError(
      `${removed} No terminal to prompt on. Pass --allow-removals to confirm, or --dry-run to see the plan. Nothing was changed.`,
    );
  }
  if (deleted.length > permitted) {
    await confirmCount(io, unnamedText(asked), deleted.length, `--prune=${deleted.length}`);
  } else if ((isInteractive(io) || needsYes) && (deleted.length > 0 || hasEffects)) {
    await confirm(io, 'Make these changes?', yes);
  }
}

/** Says what a command without a terminal has to permit. */
export function notePermissions({ io, note }: Cli, asked: Asked, permitted: number): void {
  if (isInteractive(io)) return;
  const { changes, deleted } = asked;
  const removed = removedText(changes);
  if (removed !== null) note(`${removed} It needs --allow-removals.`);
  if (deleted.length > permitted) note(`${unnamedText(asked)} It needs --prune=${deleted.length}.`);
}

const unnamedText = ({ deleted, noun }: Asked): string => deletedText(deleted, noun, ' that no file names');

const CLUSTERS_NAMED = 5;

/** @returns a sentence, or null if nothing is taken away */
function removedText(planned: readonly PlannedChange[]): string | null {
  const removing = planned.flatMap((each) => {
    const effects = removalsIn(each);
    return effects.length === 0 ? [] : [`${each.document.name} (${effects.map(shortEffect).join(', ')})`];
  });
  if (removing.length === 0) return null;
  const more = removing.length > CLUSTERS_NAMED ? ` and ${removing.length - CLUSTERS_NAMED} more` : '';
  return `This removes or replaces nodes of ${removing.slice(0, CLUSTERS_NAMED).join(', ')}${more}.`;
}
