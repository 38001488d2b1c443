/** FIFO in three lanes of priority. Every fourth and sixteenth turn begins with a slower lane, so that none starves. */
export type Priority = "high" | "normal" | "low";

const rank: Record<Priority, number> = { high: 0, normal: 1, low: 2 };

export function moreUrgent(a: Priority, b: Priority): boolean {
  return rank[a] < rank[b];
}

const usually = ["high", "normal", "low"] as const;
const everyFourth = ["normal", "low", "high"] as const;
const everySixteenth = ["low", "normal", "high"] as const;

interface Lanes<T> {
  push(priority: Priority, item: T): void;
  /** The next item for which `wanted` holds; the others are thrown away. */
  take(wanted: (item: T, lane: Priority) => boolean): T | undefined;
}

export function createLanes<T>(): Lanes<T> {
  const lanes: Record<Priority, Fifo<T>> = { high: createFifo(), normal: createFifo(), low: createFifo() };
  let turn = 0;
  return {
    push: (priority, item) => lanes[priority].push(item),
    take(wanted) {
      turn = (turn + 1) % 16;
      const order = turn === 0 ? everySixteenth : turn % 4 === 0 ? everyFourth : usually;
      for (const lane of order) {
        for (let item = lanes[lane].shift(); item !== undefined; item = lanes[lane].shift()) {
          if (wanted(item, lane)) return item;
        }
      }
      return undefined;
    },
  };
}

interface Fifo<T> {
  push(item: T): void;
  shift(): T | undefined;
}

/** Array.shift moves every element once an array is large; this moves none and cuts off what was taken in blocks. */
function createFifo<T>(): Fifo<T> {
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
