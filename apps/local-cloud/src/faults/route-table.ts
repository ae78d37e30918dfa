export interface Route {
  /** Path with `:parameter` segments, e.g. `/v1/zones/:zone`. */
  readonly pattern: string;
  readonly methods: readonly string[];
}

/** Says which route a path belongs to, apart from Express: a faulted request never gets as far as a handler. */
export class RouteTable {
  readonly #routes: readonly { route: Route; segments: readonly string[] }[];

  /** @param routes of two that fit a path the first wins */
  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, segments: route.pattern.split('/') }));
  }

  find(path: string): Route | null {
    const segments = path.split('/');
    const found = this.#routes.find(
      (known) =>
        known.segments.length === segments.length &&
        known.segments.every((part, index) =>
          part.startsWith(':') ? segments[index] !== '' : part === segments[index],
        ),
    );
    return found?.route ?? null;
  }
}
