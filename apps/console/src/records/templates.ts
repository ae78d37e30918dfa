import type { SetDraft } from './set-draft.js';

type Template = Pick<SetDraft, 'name' | 'type' | 'records'> & { readonly label: string };

const text = (label: string, name: string, value: string): Template => ({
  label,
  name,
  type: 'TXT',
  records: [{ value, comment: '' }],
});

/** What people add most and have to look up. */
export const templates: readonly Template[] = [
  text('SPF: who may send mail', '', 'v=spf1 include:_spf.example.org -all'),
  text('DKIM: the key of a mail server', 'selector1._domainkey', 'v=DKIM1; k=rsa; p='),
  text('DMARC: what happens to forged mail', '_dmarc', 'v=DMARC1; p=none; rua=mailto:'),
  text('Domain verification', '', 'google-site-verification='),
];
