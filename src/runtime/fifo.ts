export interface Fifo<T> {
  push(item: T): void;
  shift(): T | undefined;
}

/** First in, first out. Array.shift moves every element once an array is large; this moves none and cuts off what was taken in blocks. */
export function createFifo<T>(): Fifo<T> {
  const cutAfter = 1_024;
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    push: (item) => void items.push(item),
    shift() {
      const item = items[head];
      if (head < items.length) {
        items[head] = undefined;
        head += 1;
      }
      if (head === items.length || (head >= cutAfter && head * 2 >= items.length)) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}
