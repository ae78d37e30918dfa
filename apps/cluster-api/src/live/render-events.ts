import { type TeamEvent, type TeamEventKind, teamEventKinds } from '@corral/contracts';
import { type EventRecord, type RenderedEvent, renderEvent } from './event-record.js';
import type { Team } from './live-changes.js';

type Body = Exclude<TeamEvent['resource'], null>;
/** The present bodies of those that are there. */
export type BodyReader = (team: Team, ids: readonly string[]) => Promise<ReadonlyMap<string, Body>>;

/** Renders events with what they are about, which is read once per kind however many events tell of it. */
export const eventRenderer =
  (readers: Readonly<Record<TeamEventKind, BodyReader>>) =>
  async (team: Team, records: readonly EventRecord[]): Promise<RenderedEvent[]> => {
    const bodies = new Map<string, Body>();
    const readKind = async (kind: TeamEventKind): Promise<void> => {
      const changed = records.filter((record) => record.kind === kind && record.change === 'changed');
      const ids = [...new Set(changed.map(({ targetId }) => targetId))];
      if (ids.length === 0) return;
      for (const [id, body] of await readers[kind](team, ids)) bodies.set(id, body);
    };
    await Promise.all(teamEventKinds.map(readKind));
    return records.map((record) => renderEvent(record, bodyFor(record, bodies)));
  };

const bodyFor = ({ change, targetId }: EventRecord, bodies: ReadonlyMap<string, Body>): Body | null =>
  change === 'deleted' ? null : (bodies.get(targetId) ?? null);
