/** How much there is of each, for as long as there is any. */
export function createCounts() {
  const counts = new Map<string, number>();
  const of = (key: string) => counts.get(key) ?? 0;
  return {
    of,
    /** Less than nothing takes away. */
    add(key: string, amount: number): void {
      const now = of(key) + amount;
      if (now === 0) counts.delete(key);
      else counts.set(key, now);
    },
  };
}
