import { Page } from '../ui/page.js';

export function TokensPage() {
  return <Page title="DNS tokens">…</Page>;
}
