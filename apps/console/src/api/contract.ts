import type { ClusterAnswer, ClusterAnswerBody, clusterRoutes } from '@corral/contracts';

/*
 * The cluster API as types: a path of the route table selects its parameters and answers. Types only: the table itself is
 * not part of the bundle.
 */

type Route = (typeof clusterRoutes)[number];
export type Method = Route['method'];
export type PathOf<M extends Method> = Extract<Route, { method: M }>['path'];
type RouteAt<M extends Method, P extends string> = Extract<Route, { method: M; path: P }>;

/** The names in braces of a path. */
type NameIn<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | NameIn<Rest> : never;
export type PathParams<P extends string> = { readonly [Name in NameIn<P>]: string | number };

type BodyOf<A> = A extends ClusterAnswer ? ClusterAnswerBody<A> : undefined;
type BodiesOf<R> = R extends { answers: infer A } ? { [S in keyof A]: BodyOf<A[S]> }[keyof A] : never;

/** What a GET of the path answers. */
export type Read<P extends string> = Exclude<BodiesOf<RouteAt<'get', P>>, undefined>;
/** What a change answers; undefined for an answer without a body. */
export type Changed<M extends Method, P extends string> = BodiesOf<RouteAt<M, P>>;

/** The paths that answer pages of items. */
export type ListPath = {
  [P in PathOf<'get'>]: Read<P> extends { items: readonly unknown[]; next: unknown } ? P : never;
}[PathOf<'get'>];
export type ItemOf<P extends ListPath> = Read<P> extends { items: readonly (infer I)[] } ? I : never;
