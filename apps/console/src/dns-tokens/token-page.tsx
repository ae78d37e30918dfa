import { Page } from '../ui/page.js';

export function TokenPage() {
  return <Page title="DNS token">…</Page>;
}
