import { createHash } from 'node:crypto';
import { type ShootSpec, type Worker, workersOf } from '../kinds/shoot/shoot.js';
import type { Machine } from './simulation.js';

/** Five letters and digits derived from a text. */
const suffixOf = (text: string): string => {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  const bytes = createHash('sha256').update(text).digest();
  return Array.from({ length: 5 }, (_, index) => letters[(bytes[index] ?? 0) % letters.length]).join('');
};

/** Machines roll when this changes: with machine type, image or minor version, not with labels, taints or counts. */
const templateOf = ({ kubernetes }: ShootSpec, worker: Worker): string =>
  suffixOf(
    JSON.stringify([
      kubernetes.version.split('.').slice(0, 2),
      worker.machine,
      worker.zones,
      worker.cri,
      worker.providerConfig,
    ]),
  );

/**
 * The machines for a spec: `minimum` of each pool in each of its zones.
 *
 * @param before existing machines; those with the same template are kept
 * @param at creation time of new machines; RFC 3339
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
