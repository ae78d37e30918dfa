import { Page } from '../ui/page.js';

export function OperationPage() {
  return <Page title="Operation">…</Page>;
}
