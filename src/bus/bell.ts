/** Wakes the one loop that waits for it. Rung while nobody waits, that counts once. */
export interface Bell {
  ring(): void;
  rung(): Promise<void>;
}

export function createBell(): Bell {
  let isRung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      if (!wake) {
        isRung = true;
        return;
      }
      wake();
      wake = undefined;
    },
    rung() {
      if (isRung) {
        isRung = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
}
