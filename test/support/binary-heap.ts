/** A binary heap: the smallest of many in O(log n), for timers and due times. */
interface Heap<T> {
  push(item: T): void;
  pop(): T | undefined;
  peek(): T | undefined;
  clear(): void;
  readonly size: number;
}

export function createHeap<T>(compare: (a: T, b: T) => number): Heap<T> {
  let items: T[] = [];

  function up(index: number): void {
    const item = items[index] as T;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (compare(items[parent] as T, item) <= 0) break;
      items[index] = items[parent] as T;
      index = parent;
    }
    items[index] = item;
  }

  function down(index: number): void {
    const item = items[index] as T;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && compare(items[child + 1] as T, items[child] as T) < 0) child += 1;
      if (compare(item, items[child] as T) <= 0) break;
      items[index] = items[child] as T;
      index = child;
    }
    items[index] = item;
  }

  return {
    push(item) {
      items.push(item);
      up(items.length - 1);
    },
    pop() {
      const top = items[0];
      const last = items.pop();
      if (items.length > 0) {
        items[0] = last as T;
        down(0);
      }
      return top;
    },
    peek: () => items[0],
    clear() {
      items = [];
    },
    get size() {
      return items.length;
    },
  };
}
