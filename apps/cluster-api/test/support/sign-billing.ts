import { createHmac } from 'node:crypto';

/** The signature header of a billing event. @param seconds Unix time of the signature */
export function signed(body: string, secret: string, seconds = Math.floor(Date.now() / 1_000)): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

export const aSubscription = (more: object = {}) => ({
  id: 'sub_1',
  display_name: 'Team plan',
  billing_interval: 'month',
  status: 'active',
  quantity: 3,
  start_date: '2026-01-01T00:00:00Z',
  cancel_at_period_end: false,
  current_period_start: '2026-11-01T00:00:00Z',
  current_period_end: '2026-12-01T00:00:00+01:00',
  items: [
    {
      id: 'si_1',
      quantity: 3,
      price: {
        id: 'price_1',
        product_name: 'Clusters',
        human_readable_price: '€ 49.00 / month',
        payment_amount: '49.00',
        unit_amount: 4900,
        nickname: 'INTERNAL-friends-and-family',
      },
    },
  ],
  ...more,
});
