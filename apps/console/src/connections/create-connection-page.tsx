import { Page } from '../ui/page.js';

export function CreateConnectionPage() {
  return <Page title="Connect cloud project">…</Page>;
}
