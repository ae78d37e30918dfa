/**
 * SQL: the database's clock at the precision of our columns, milliseconds. They round to the nearest one, so what was made
 * due "now" may lie half a millisecond ahead of a finer clock, and whoever looks at once would not find it. Rounded the
 * same way, the clock never lies behind a time that was written before.
 */
export const rowClock = 'clock_timestamp()::timestamptz(3)';
