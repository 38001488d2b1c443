/** A line with a bound on its length and on its weight: who does not fit pushes out the oldest. */
interface DropOldest<T> {
  push(item: T): void;
  /** Puts items that were shifted out back at the front, in their order. */
  putBack(items: readonly T[]): void;
  peek(): T | undefined;
  shift(): T | undefined;
  clear(): void;
  readonly size: number;
}

export function createDropOldest<T extends { readonly bytes: number }>(
  most: { items: number; bytes: number },
  onDrop: (item: T) => void,
): DropOldest<T> {
  let line: T[] = [];
  let head = 0;
  let bytesHeld = 0;

  const size = () => line.length - head;

  function shift(): T | undefined {
    const first = line[head];
    if (!first) return undefined;
    head += 1;
    bytesHeld -= first.bytes;
    // Array.shift would move all that follow each time; this moves them once per half of the line.
    if (head * 2 >= line.length) {
      line = line.slice(head);
      head = 0;
    }
    return first;
  }

  /** The newest stays, however heavy it is. */
  function makeRoom(): void {
    while (size() > 1 && (size() > most.items || bytesHeld > most.bytes)) {
      const oldest = shift();
      if (oldest) onDrop(oldest);
    }
  }

  return {
    push(item) {
      line.push(item);
      bytesHeld += item.bytes;
      makeRoom();
    },
    putBack(items) {
      line = [...items, ...line.slice(head)];
      head = 0;
      for (const item of items) bytesHeld += item.bytes;
      makeRoom();
    },
    peek: () => line[head],
    shift,
    clear() {
      line = [];
      head = 0;
      bytesHeld = 0;
    },
    get size() {
      return size();
    },
  };
}
