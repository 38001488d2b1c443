/** Who listens to one thing among many, by its key: so who listens to one costs the others nothing. */
export function createListeners<Listener>() {
  const byKey = new Map<string, Set<Listener>>();
  return {
    of: (key: string): readonly Listener[] => [...(byKey.get(key) ?? [])],
    /** The answer ends it. */
    on(key: string, listener: Listener): () => void {
      const own = byKey.get(key) ?? new Set();
      byKey.set(key, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0 && byKey.get(key) === own) byKey.delete(key);
      };
    },
  };
}
