/**
 * Loaded before a program (`node --import`): its wall clock is CORRAL_TEST_CLOCK_SHIFT_MS ahead of that of the machine,
 * and its steady clock starts elsewhere, as on a machine with a wrong clock. Timers work as usual.
 */
const shiftMs = Number(process.env.CORRAL_TEST_CLOCK_SHIFT_MS ?? 0);

const RealDate = Date;
const now = () => RealDate.now() + shiftMs;
globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
});

const steady = performance.now.bind(performance);
performance.now = () => steady() + Math.abs(shiftMs);
