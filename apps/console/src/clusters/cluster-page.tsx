import { Page } from '../ui/page.js';

export function ClusterPage() {
  return <Page title="Cluster">…</Page>;
}
