import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedMessage {
  /** `webhook-id`. */
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
}

export interface WebhookReceiver {
  readonly url: string;
  /** Messages in the order of arrival. */
  readonly received: ReceivedMessage[];
  /** What is answered, after what the function does. 200 at first. */
  answer(status: () => number | Promise<number>): void;
  close(): Promise<void>;
}

/** The other side of a webhook, on this machine. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedMessage[] = [];
  let status: () => number | Promise<number> = () => 200;
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const payload = Buffer.concat(chunks).toString();
    const headers = req.headers as Record<string, string>;
    received.push({ id: headers['webhook-id'] ?? '', headers, payload, body: JSON.parse(payload) });
    res.writeHead(await status()).end('an answer that nobody reads');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A test that fails before it closes the receiver ends all the same.
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?x=1`,
    received,
    answer(next) {
      status = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
