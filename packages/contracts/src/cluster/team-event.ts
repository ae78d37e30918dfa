import type { JSONSchema } from 'json-schema-to-ts';
import { exactly } from '../schema-objects.js';
import { filled, time } from './schema-parts.js';

/** The kinds of resources that events report, with the prefix of the event name. */
export const teamEventNouns = {
  Cluster: 'cluster',
  NodePool: 'node_pool',
  Operation: 'operation',
  AdoptedServer: 'adopted_server',
  Connection: 'connection',
  RecordSet: 'record_set',
  DnsToken: 'dns_token',
  Member: 'member',
} as const;
export type TeamEventKind = keyof typeof teamEventNouns;
export const teamEventKinds = Object.keys(teamEventNouns) as TeamEventKind[];

export const teamEventChanges = ['changed', 'deleted'] as const;
export type TeamEventChange = (typeof teamEventChanges)[number];

/** The name of an event in the stream, such as `cluster.changed` or `node_pool.deleted`. */
export const teamEventName = (kind: TeamEventKind, change: TeamEventChange): string =>
  `${teamEventNouns[kind]}.${change}`;

/** The data of an event. */
export interface TeamEvent {
  readonly id: string;
  readonly kind: TeamEventKind;
  readonly change: TeamEventChange;
  readonly name: string;
  readonly targetId: string;
  readonly parent: string | null;
  readonly at: string;
  readonly resource: object | null;
}

/** @param resources schemas of the resources that an event can contain */
export const teamEventSchemaOf = <const R extends readonly JSONSchema[]>(resources: R) =>
  exactly({
    id: { ...filled, description: 'The same as `id` of the event, for `Last-Event-ID`.' },
    kind: { enum: teamEventKinds },
    change: { enum: teamEventChanges },
    name: {
      ...filled,
      description: 'Name of the resource; for an operation, the name of its target; for a connection, its ref.',
    },
    targetId: {
      ...filled,
      description: 'Id of the resource; for a record set, `name/type`; for a member, the number used in paths.',
    },
    parent: {
      type: ['string', 'null'],
      description:
        'The cluster of a node pool, the connection of a server, the zone of a record set; null if that is deleted as well.',
    },
    at: time,
    resource: {
      anyOf: [...resources, { type: 'null' }],
      description:
        'As returned by GET when the event is sent; for a record set, by GET of the DNS API. Null when it was deleted or ' +
        'no longer exists at that time.',
    },
  });

/** Control events of a stream. */
export const streamEventNames = {
  /** The first event of a stream without `Last-Event-ID`. Data loaded after it misses no change. */
  ready: 'ready',
  /** Sent when events to resume from are no longer available: reload everything. */
  reset: 'reset',
  /** The last event, with the reason why the stream ends. */
  end: 'end',
} as const;

export const streamEndReasons = {
  shutdown: 'This replica is shutting down. Reconnect.',
  session: 'The session, the token or the membership has ended. Sign in, or use another token, before you reconnect.',
  slow: 'The client did not read the events in time. Reconnect with `Last-Event-ID`.',
} as const;
export type StreamEndReason = keyof typeof streamEndReasons;
