import { createHash } from 'node:crypto';
import { type ShootSpec, type Worker, workersOf } from '../kinds/shoot/shoot.js';
import type { Machine } from './simulation.js';

/** Five letters and digits that follow from a text. */
const suffixOf = (text: string): string => {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  const bytes = createHash('sha256').update(text).digest();
  return Array.from({ length: 5 }, (_, index) => letters[(bytes[index] ?? 0) % letters.length]).join('');
};

/** Another one makes machines roll: for another type, image or minor version, not for labels, taints and counts. */
const templateOf = ({ kubernetes }: ShootSpec, worker: Worker): string =>
  suffixOf(
    JSON.stringify([
      (worker.kubernetes?.version ?? kubernetes.version).split('.').slice(0, 2),
      worker.machine,
      worker.zones,
      worker.cri,
      worker.providerConfig,
    ]),
  );

/**
 * The machines that a spec leads to: `minimum` of each pool in each of its zones.
 *
 * @param before machines of the same template are kept
 * @param at RFC 3339, when new machines are made
 */
export function machinesFor(technicalId: string, spec: ShootSpec, before: readonly Machine[], at: string): Machine[] {
  return workersOf(spec).flatMap((worker) => {
    return (worker.zones ?? []).flatMap((zone) => {
      const set = `${technicalId}-${worker.name}-${zone}-${templateOf(spec, worker)}`;
      return Array.from({ length: worker.minimum }, (_, index): Machine => {
        const name = `${set}-${suffixOf(`${set}/${index}/${at}`)}`;
        const kept = before.filter((machine) => machine.name.startsWith(`${set}-`))[index];
        return kept ?? { name, pool: worker.name, createdAt: at };
      });
    });
  });
}
