import { Page } from '../ui/page.js';

export function ClustersPage() {
  return <Page title="Clusters">…</Page>;
}
