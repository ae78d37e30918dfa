import { Page } from '../ui/page.js';

export function RecordsPage() {
  return <Page title="Record sets">…</Page>;
}
