/** Lets a test hold a call: it waits until the call has arrived, inspects the state, and lets it continue. */
export interface StopOnTheWay {
  /** Called by the held code. Resolves when it may continue. */
  stop(): Promise<void>;
  readonly hasCome: Promise<void>;
  goOn(): void;
}

export function stopOnTheWay(): StopOnTheWay {
  let come: () => void = () => undefined;
  let goOn: () => void = () => undefined;
  const hasCome = new Promise<void>((resolve) => {
    come = resolve;
  });
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  return {
    stop() {
      come();
      return mayGoOn;
    },
    hasCome,
    goOn: () => goOn(),
  };
}
