import { Page } from '../ui/page.js';

export function ConnectionsPage() {
  return <Page title="Connections">…</Page>;
}
