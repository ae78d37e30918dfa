declare const brand: unique symbol;

/** A branded string: the compiler rejects an id of one kind where another is expected. */
type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type TeamId = Id<'team'>;
export type UserId = Id<'user'>;
export type ClusterId = Id<'cluster'>;
export type NodePoolId = Id<'node pool'>;
export type ConnectionId = Id<'connection'>;
/** Our own id of an adopted server. The provider's id is a `number`. */
export type ServerId = Id<'server'>;
export type OperationId = Id<'operation'>;
export type WebhookId = Id<'webhook'>;

/*
 * Casts for ids from rows and parsed parameters. They check nothing, because only the source of a string determines its kind.
 */

export const asTeamId = (id: string): TeamId => id as TeamId;
export const asUserId = (id: string): UserId => id as UserId;
export const asClusterId = (id: string): ClusterId => id as ClusterId;
export const asNodePoolId = (id: string): NodePoolId => id as NodePoolId;
export const asConnectionId = (id: string): ConnectionId => id as ConnectionId;
export const asServerId = (id: string): ServerId => id as ServerId;
export const asOperationId = (id: string): OperationId => id as OperationId;
export const asWebhookId = (id: string): WebhookId => id as WebhookId;

/** The pattern of an id in answers. */
export const uuidPattern = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
const uuid = new RegExp(uuidPattern, 'i');

/**
 * Reads the id of a resource, whose letters may be capitals (RFC 9562 section 4).
 *
 * @returns the id as answers have it; null for other texts, which Postgres does not accept as an id
 */
export const parseId = (text: string): string | null => (uuid.test(text) ? text.toLowerCase() : null);

/** Parses a whole number of at least 1, such as the provider's number of a server or an action; null for any other text. */
export function parseNumber(text: string): number | null {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : null;
}
