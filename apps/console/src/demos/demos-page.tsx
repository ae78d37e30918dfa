import { Page } from '../ui/page.js';

export function DemosPage() {
  return <Page title="Demos">…</Page>;
}
