/** Where a test stops a call: it waits until the call has come, looks around, and lets it go on. */
export interface StopOnTheWay {
  /** Of the call. Resolves when it may go on. */
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
