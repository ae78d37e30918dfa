import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { Problem } from '../problem.js';
import type { ClusterRecord } from './cluster-record.js';

/** What a conditional request names: `*` for any, or the tags without their quotes. */
export type EntityTags = '*' | readonly string[];

/** What has to hold for a request to be done at all (RFC 9110 section 13). Null: no such header. */
export interface Preconditions {
  readonly ifMatch: EntityTags | null;
  readonly ifNoneMatch: EntityTags | null;
}

/*
 * An entity tag has three parts: what the resource is, what is declared of it, and what is seen of it. All of them count for
 * `If-None-Match`. For `If-Match` the first two do: who changes a declaration must know the one that is there, and cannot be
 * refused because a node blinked meanwhile.
 */

/**
 * The entity tag of every answer about a cluster, its managed node pools included, without quotes. It changes with every
 * visible change. With the id in it, a tag never fits a later cluster of the same name.
 */
export function entityTagOf({
  id,
  generation,
  revision,
}: Pick<ClusterRecord, 'id' | 'generation' | 'revision'>): string {
  return `${id}.${generation}.${revision}`;
}

/**
 * The entity tag of a resource that has no revision of its own: made of what it says.
 *
 * @param declared what of it can be changed by a request, or a number that grows with each such change
 * @param body the whole answer
 */
export function contentTagOf(id: string, declared: object | number, body: object): string {
  return `${id}.${typeof declared === 'number' ? declared : digestOf(declared)}.${digestOf(body)}`;
}

const digestOf = (value: object): string =>
  createHash('sha256')
    .update(canonicalize(value) as string)
    .digest('base64url')
    .slice(0, 22);

/**
 * The entity tag of an answer about a node pool: that of its cluster, and of a pool on adopted servers with the number of
 * nodes that back it, which only the pool's own answer shows.
 */
export function poolTagOf(
  cluster: Pick<ClusterRecord, 'id' | 'generation' | 'revision' | 'backingReady'>,
  pool: { readonly name: string },
): string {
  const ready = cluster.backingReady.get(pool.name);
  return ready === undefined ? entityTagOf(cluster) : `${entityTagOf(cluster)}.${ready}`;
}

/** As it stands in a header. */
export const quoted = (tag: string): string => `"${tag}"`;

/** @param tag without quotes; null when there is no such resource, which nothing matches */
export function includesTag(tags: EntityTags, tag: string | null): boolean {
  if (tag === null) return false;
  return tags === '*' || tags.includes(tag);
}

/** Whether one of the tags is about the same declaration. */
function includesDeclaration(tags: EntityTags, tag: string | null): boolean {
  if (tag === null || tags === '*') return includesTag(tags, tag);
  return tags.some((each) => declaredPart(each) === declaredPart(tag));
}

const declaredPart = (tag: string): string => tag.split('.', 2).join('.');

/**
 * @param tag of what the request is about, null when that is absent
 * @throws Problem `precondition_failed`
 */
export function checkPreconditions({ ifMatch, ifNoneMatch }: Preconditions, tag: string | null): void {
  if (ifMatch !== null && !includesDeclaration(ifMatch, tag)) {
    const present = tag === null ? 'The resource does not exist' : `The current entity tag is ${quoted(tag)}`;
    throw new Problem(
      'precondition_failed',
      `${present}, which If-Match does not match. Read the resource again, then decide.`,
    );
  }
  if (ifNoneMatch !== null && includesTag(ifNoneMatch, tag)) {
    throw new Problem(
      'precondition_failed',
      'The resource already exists, which If-None-Match excludes. Omit the header to change it.',
    );
  }
}
