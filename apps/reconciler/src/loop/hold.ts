import { findHold, type Hold, type HoldFinding, type Prisma, readClock } from '@corral/database';

/** What was found during a hold about one thing. */
export interface Finding {
  /** `as_recorded` when nothing differs. */
  readonly finding: HoldFinding;
  /** A sentence for operators. */
  readonly message: string;
}

/** @param message a sentence for operators */
export const findingOf = (finding: HoldFinding, message: string): Finding => ({ finding, message });

/** `Garden`: whether its Shoots were listed. `Shoot`: one without a row. */
type TargetKind = 'Cluster' | 'AdoptedServer' | 'Shoot' | 'Garden';

const unknownShoot = findingOf(
  'unknown_shoot',
  'The garden has this Shoot with the labels of Corral, but the database has no cluster for it. Corral does not touch it.',
);

/** The hold in force, and what passes find during it. A later finding about the same thing replaces the earlier one. */
export const holdStore = (prisma: Prisma) => ({
  find: (): Promise<Hold | null> => findHold(prisma),

  async note(
    { id: holdId }: { readonly id: string },
    targetKind: TargetKind,
    targetId: string,
    found: Finding,
  ): Promise<void> {
    const foundAt = await readClock(prisma);
    await prisma.holdFinding.upsert({
      where: { holdId_targetKind_targetId: { holdId, targetKind, targetId } },
      create: { holdId, targetKind, targetId, ...found, foundAt },
      update: { ...found, foundAt },
      select: { holdId: true },
    });
  },

  /** Notes that all Shoots were listed, and which of them have no row. Without a hold, this does nothing. */
  async noteListed(seen: readonly { readonly namespace: string; readonly shootName: string }[]): Promise<void> {
    const hold = await findHold(prisma);
    if (hold === null) return;
    const known = await prisma.cluster.findMany({ select: { shootName: true } });
    const names = new Set(known.map(({ shootName }) => shootName));
    for (const { namespace, shootName } of seen) {
      if (!names.has(shootName)) await this.note(hold, 'Shoot', `${namespace}/${shootName}`, unknownShoot);
    }
    const message = 'All Shoots of Corral were listed.';
    await this.note(hold, 'Garden', 'shoots', { finding: 'as_recorded', message });
  },
});
export type HoldStore = ReturnType<typeof holdStore>;

/** Runs `work` unless a hold is in force. For jobs that change something outside and have nothing to observe. */
export const unlessHeld =
  (holds: HoldStore, work: (signal: AbortSignal) => Promise<unknown>) =>
  async (signal: AbortSignal): Promise<void> => {
    if ((await holds.find()) === null) await work(signal);
  };

/** What work waits for during a hold, as its operation shows it. */
export const heldWait = {
  reason: 'Held',
  message: 'The operators have stopped changes for now. Work continues automatically.',
} as const;
