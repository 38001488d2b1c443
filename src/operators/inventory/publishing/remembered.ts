/** What is made of an object that never changes is made once, and forgotten with it. */
export function remembered<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (from) => {
    const known = made.get(from);
    if (known) return known.value;
    const value = make(from);
    made.set(from, { value });
    return value;
  };
}
