export interface SseBlock {
  readonly event?: string;
  readonly id?: string;
  readonly data?: object;
  /** In how many milliseconds a client that loses the stream asks for it again. */
  readonly retry?: number;
  readonly comment?: string;
}

/**
 * One block of an event stream (HTML, section 9.2.5). Without data it is no event to anybody; its `id` counts all the
 * same. No value may hold a line break: JSON has none.
 */
export function renderBlock({ comment, retry, event, id, data }: SseBlock): Buffer {
  const lines = [
    ...(comment === undefined ? [] : [`: ${comment}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
  ];
  return Buffer.from(`${lines.join('\n')}\n\n`);
}
