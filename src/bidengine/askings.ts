/** Orders that are being decided on: when one is gone, whoever takes their time over its price need not go on. */
export type Askings = ReturnType<typeof createAskings>;

export function createAskings() {
  const underWay = new Map<string, AbortController>();
  return {
    /** The work ends early with the signal that it is given. */
    async during<T>(key: string, signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
      const over = new AbortController();
      underWay.set(key, over);
      try {
        return await work(AbortSignal.any([signal, over.signal]));
      } finally {
        underWay.delete(key);
      }
    },
    gone: (key: string) => underWay.get(key)?.abort(new Error("the order is gone")),
  };
}
