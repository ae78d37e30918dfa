import { Page } from '../ui/page.js';

export function CreateClusterPage() {
  return <Page title="Create cluster">…</Page>;
}
