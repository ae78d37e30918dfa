/** Position of the serial among the seven fields of an SOA value. */
const SERIAL_FIELD = 2;

/** The SOA value that a new zone starts with. */
export const initialSoa = (nameServer: string, nowMs: number): string =>
  `${nameServer} dns.hetzner.com. ${dayOf(nowMs) * 100} 86400 10800 3600000 3600`;

/** Raises the serial: to the first of the day (`YYYYMMDD00`), or by one when it is already there or beyond. */
export function bumpSerial(soaValue: string, nowMs: number): string {
  const fields = soaValue.split(' ');
  const serial = Math.max(Number(fields[SERIAL_FIELD]) + 1, dayOf(nowMs) * 100);
  fields[SERIAL_FIELD] = String(serial);
  return fields.join(' ');
}

function dayOf(nowMs: number): number {
  return Number(new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', ''));
}
