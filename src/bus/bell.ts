/** Wakes the one loop that waits for it. Rung while nobody waits, it is remembered once. */
export interface Bell {
  ring(): void;
  rung(): Promise<void>;
}

export function createBell(): Bell {
  let remembered = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      if (!wake) {
        remembered = true;
        return;
      }
      wake();
      wake = undefined;
    },
    rung() {
      if (remembered) {
        remembered = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
}
