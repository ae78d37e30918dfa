import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BarePage {
  readonly url: string;
  close(): Promise<void>;
}

/** The floor: a static page of as many rows, filtered by a few lines without any library. */
export async function startBarePage(rows: number): Promise<BarePage> {
  const cells = (index: number) => `<td>name-${index}</td><td>A</td><td>192.0.2.${index}</td><td>300</td>`;
  const table = Array.from({ length: rows }, (_, index) => `<tr>${cells(index)}</tr>`).join('');
  const html = `<!doctype html><meta charset="utf-8"><title>Bare</title><link rel="icon" href="data:,">
<main><h1>Bare</h1><input data-shortcut="/"><table><tbody>${table}</tbody></table></main>
<script>document.querySelector('input').addEventListener('input', ({ target }) => {
  for (const row of document.querySelectorAll('tr')) row.hidden = !row.textContent.includes(target.value);
});</script>`;
  const server = createServer((_req, res) => res.setHeader('content-type', 'text/html').end(html));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
