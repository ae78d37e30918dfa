import { type TeamEvent, type TeamEventKind, teamEventKinds, teamEventNouns } from '@corral/contracts';
import { type EventRecord, type RenderedEvent, renderEvent } from './event.js';
import type { Team } from './readers.js';

type Body = Exclude<TeamEvent['resource'], null>;
/** Reads the current bodies of existing resources, by id. */
export type BodyReader = (team: Team, ids: readonly string[]) => Promise<ReadonlyMap<string, Body>>;

/** Renders events with the bodies of their resources, which are read with one query per kind. */
export const eventRenderer =
  (readers: Readonly<Record<TeamEventKind, BodyReader>>) =>
  async (team: Team, read: readonly EventRecord[]): Promise<RenderedEvent[]> => {
    const records = withoutOutdated(read);
    const bodies = new Map<string, Body>();
    const readKind = async (kind: TeamEventKind): Promise<void> => {
      const changed = records.filter((record) => record.kind === kind && record.change === 'changed');
      const ids = [...new Set(changed.map(({ targetId }) => targetId))];
      if (ids.length === 0) return;
      for (const [id, body] of await readers[kind](team, ids)) bodies.set(keyOf({ kind, targetId: id }), body);
    };
    await Promise.all(teamEventKinds.map(readKind));
    return records.map((record) => renderEvent(record, bodyFor(record, bodies)));
  };

/**
 * Drops record set events that a later event supersedes. They would carry the same body, which may be long, and
 * programs write record sets by the hundred. Also drops kinds that only a newer version of the service knows.
 */
export function withoutOutdated(records: readonly EventRecord[]): EventRecord[] {
  const last = new Map(records.map((record) => [keyOf(record), record]));
  return records.filter(
    (record) =>
      Object.hasOwn(teamEventNouns, record.kind) && (record.kind !== 'RecordSet' || last.get(keyOf(record)) === record),
  );
}

const keyOf = ({ kind, targetId }: Pick<EventRecord, 'kind' | 'targetId'>): string => `${kind} ${targetId}`;

const bodyFor = (record: EventRecord, bodies: ReadonlyMap<string, Body>): Body | null =>
  record.change === 'deleted' ? null : (bodies.get(keyOf(record)) ?? null);
