/*
 * The types of a call, derived from the `operations` of an OpenAPI document as openapi-typescript renders them.
 */

/** A redirect, or a stream: not an operation that can be called. */
export type CallableId<Ops> = {
  [Id in keyof Ops]: [AnswerOf<Ops[Id]>] extends [never] ? never : Id;
}[keyof Ops] &
  string;

type Parameters<Op> = Op extends { parameters: infer P } ? P : never;
type Defined<T> = Exclude<T, undefined>;

/** The parameters of the path. */
export type PathOf<Op> = Parameters<Op> extends { path: infer P extends object } ? Readonly<P> : NoParameters;
type NoParameters = Readonly<Record<string, never>>;

export type QueryOf<Op> =
  Parameters<Op> extends { query?: infer Q }
    ? [Defined<Q>] extends [never]
      ? never
      : { readonly [Name in keyof Defined<Q>]: Defined<Q>[Name] | undefined }
    : never;

export type HeaderOf<Op> =
  Parameters<Op> extends { header?: infer H } ? ([Defined<H>] extends [never] ? never : keyof Defined<H>) : never;

export type BodyOf<Op> = Op extends { requestBody?: infer R }
  ? [Defined<R>] extends [never]
    ? never
    : Defined<R> extends { content: infer C }
      ? C extends { 'application/json': infer B }
        ? B
        : C extends { 'application/x-www-form-urlencoded': infer F }
          ? F
          : never
      : never
  : never;
type IsBodyRequired<Op> = Op extends { requestBody: object } ? true : false;

type JsonOf<R> = R extends { content: { 'application/json': infer B } }
  ? B
  : R extends { content?: never }
    ? undefined
    : never;

/** A successful answer: its status tells which body it has. */
export type AnswerOf<Op> = Op extends { responses: infer R }
  ? { [S in keyof R & number]: [JsonOf<R[S]>] extends [never] ? never : Answer<S, JsonOf<R[S]>> }[keyof R & number]
  : never;

export interface Answer<S extends number = number, B = unknown> {
  readonly status: S;
  readonly body: B;
  /** Entity tag, for `ifMatch` of the next change. */
  readonly etag: string | null;
  /** The operation that carries out the change, for `waitForOperation`. */
  readonly operation: OperationRef | null;
  /** Time at which it was made, by the clock of the service, to the second. Null if it does not say. */
  readonly servedAt: Date | null;
  /** Names the request in the logs of the service. */
  readonly requestId: string | null;
}

export interface OperationRef {
  readonly team: string;
  readonly id: string;
}

/** What every call accepts. */
export interface CallLimits {
  /** Ends the call, repetitions included. */
  readonly signal?: AbortSignal | undefined;
  /** Time for the call, repetitions included, in ms. */
  readonly timeoutMs?: number | undefined;
}

export type CallOptions<Op> = CallLimits &
  ([QueryOf<Op>] extends [never] ? object : { readonly query?: QueryOf<Op> | undefined }) &
  ([BodyOf<Op>] extends [never]
    ? object
    : IsBodyRequired<Op> extends true
      ? { readonly body: BodyOf<Op> }
      : { readonly body?: BodyOf<Op> | undefined }) &
  ('If-Match' extends HeaderOf<Op>
    ? {
        /** Entity tag that the resource must still have. */
        readonly ifMatch?: string | undefined;
      }
    : object) &
  ('If-None-Match' extends HeaderOf<Op>
    ? {
        /** `*`: the resource must not exist yet. */
        readonly ifNoneMatch?: '*' | undefined;
      }
    : object) &
  ('Prefer' extends HeaderOf<Op>
    ? {
        /** The header's value, such as `wait=30`. */
        readonly prefer?: string | undefined;
      }
    : object) &
  ('Idempotency-Key' extends HeaderOf<Op>
    ? {
        /** The same key gives the first answer again. Default: a new key per call, shared by its repetitions. */
        readonly idempotencyKey?: string | undefined;
      }
    : object);

/** The arguments of an operation: those that it does not need may be left out. */
type CallArguments<Op, Options = CallOptions<Op>> = object extends Options
  ? PathOf<Op> extends NoParameters
    ? [params?: NoParameters, options?: Options]
    : [params: PathOf<Op>, options?: Options]
  : [params: PathOf<Op>, options: Options];

/** The body of a dry run. */
interface Plan {
  readonly dryRun: true;
}
type WithBody<S extends number, B> = [B] extends [never] ? never : Answer<S, B>;
type PlanOf<A> = A extends Answer<infer S, infer B> ? WithBody<S, Extract<B, Plan>> : never;
type ResultOf<A> = A extends Answer<infer S, infer B> ? WithBody<S, Exclude<B, Plan>> : never;

/** A change that can be planned: `dryRun` tells which body is answered. */
interface PlannableCall<Op> {
  (params: PathOf<Op>, options: CallOptions<Op> & { readonly query: Plan }): Promise<PlanOf<AnswerOf<Op>>>;
  (
    ...args: CallArguments<
      Op,
      CallOptions<Op> & { readonly query?: { readonly dryRun?: false | undefined } | undefined }
    >
  ): Promise<ResultOf<AnswerOf<Op>>>;
  (...args: CallArguments<Op>): Promise<AnswerOf<Op>>;
}

/** One method per operation, named like it. */
export type MethodsOf<Ops, Id extends keyof Ops> = {
  readonly [Each in Id]: [PlanOf<AnswerOf<Ops[Each]>>] extends [never]
    ? (...args: CallArguments<Ops[Each]>) => Promise<AnswerOf<Ops[Each]>>
    : PlannableCall<Ops[Each]>;
};
