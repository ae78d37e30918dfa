import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { Problem } from '../problem.js';

/** The value of a conditional header: `*` for any tag, or the tags without quotes. */
export type EntityTags = '*' | readonly string[];

/** The preconditions of a request (RFC 9110 section 13). Null without the header. */
export interface Preconditions {
  readonly ifMatch: EntityTags | null;
  readonly ifNoneMatch: EntityTags | null;
}

/*
 * An entity tag has three parts: identity, declaration and observed status of the resource. `If-None-Match` compares
 * all of them. `If-Match` compares the first two: a client that changes a declaration must know the current one, but
 * must not be refused because the status changed meanwhile.
 */

interface TaggedCluster {
  readonly id: string;
  readonly generation: number;
  readonly revision: number;
}

/**
 * The entity tag of every answer about a cluster, its managed node pools included, without quotes. It changes with
 * every visible change. With the id in it, a tag never fits a later cluster of the same name.
 */
export function entityTagOf({ id, generation, revision }: TaggedCluster): string {
  return `${id}.${generation}.${revision}`;
}

/**
 * The entity tag of a resource without a revision, computed from its content.
 *
 * @param declared the part that requests can change, or a number that grows with each such change
 * @param body the whole response body
 */
export function contentTagOf(id: string, declared: object | number, body: object): string {
  return `${id}.${typeof declared === 'number' ? declared : digestOf(declared)}.${digestOf(body)}`;
}

/** A short digest of a value of JSON. */
export const digestOf = (value: object): string =>
  createHash('sha256')
    .update(canonicalize(value) as string)
    .digest('base64url')
    .slice(0, 22);

/**
 * The entity tag of a node pool: that of its cluster. For a pool on adopted servers it also contains the number of
 * ready nodes, which only the pool's own body shows.
 */
export function poolTagOf(
  cluster: TaggedCluster & { readonly backingReady: ReadonlyMap<string, number> },
  pool: { readonly name: string },
): string {
  const ready = cluster.backingReady.get(pool.name);
  return ready === undefined ? entityTagOf(cluster) : `${entityTagOf(cluster)}.${ready}`;
}

/** The tag as written in a header. */
export const quoted = (tag: string): string => `"${tag}"`;

/** @param tag without quotes, or null when the resource does not exist, which matches nothing */
export function includesTag(tags: EntityTags, tag: string | null): boolean {
  if (tag === null) return false;
  return tags === '*' || tags.includes(tag);
}

/** Whether one of the tags belongs to the same declaration. */
function includesDeclaration(tags: EntityTags, tag: string | null): boolean {
  if (tag === null || tags === '*') return includesTag(tags, tag);
  return tags.some((each) => declaredPart(each) === declaredPart(tag));
}

const declaredPart = (tag: string): string => tag.split('.', 2).join('.');

/**
 * @param tag of the resource, or null when it does not exist
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
